"""spotsigs: the example of the paper, multisets by hand, and matching that misses nothing."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.set_join import resemblance
from kernels.reference.shingles import mix, number_repeats, polynomial
from kernels.reference.tokens import token_hash
from neardup.config import build_options
from neardup.methods.spotsigs import SpotSigs, SpotSigsOptions
from neardup.model import Relation, Verdict
from neardup.text.views import View
from page_batches import judge_one, page_batch, pair_set

# Theobald et al. 2008, section 3.1, with the antecedents a, an, the, is; d = 1, c = 2.
SENTENCE = (
    "At a rally to kick off a weeklong campaign for the South Carolina primary, Obama tried to "
    "set the record straight from an attack circulating widely on the Internet that is designed "
    "to play into prejudices against Muslims and fears of terrorism."
)
SPOTS = [
    "a:rally:kick",
    "a:weeklong:campaign",
    "the:south:carolina",
    "the:record:straight",
    "an:attack:circulating",
    "the:internet:designed",
    "is:designed:play",
]
spot_sets = st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=8)


def method(**values: object) -> SpotSigs:
    return SpotSigs(build_options(SpotSigsOptions, values, owner="spotsigs"), View.WHOLE)


def paper(**values: object) -> SpotSigs:
    return method(**{**SpotSigs.paper_preset, **values})


def signatures(spots: list[str]) -> list[int]:
    return number_repeats(
        [mix(polynomial([token_hash(word) for word in spot.split(":")])) for spot in spots]
    )


def spots_of(chosen: SpotSigs, text: str, script: str = "Latn") -> list[int]:
    features = chosen.describe(page_batch([text], script=[script]))
    found: list[int] = features["spots"].to_pylist()[0]
    return found


def rows(spots: list[list[int]]) -> pa.RecordBatch:
    """Features whose spots are these multisets."""
    sets = [number_repeats(each) for each in spots]
    columns = [list(range(len(sets))), [100] * len(sets), sets]
    schema = method().feature_schema
    return pa.record_batch(
        [pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=True)],
        schema=schema,
    )


def verdict(one: list[int], two: list[int], **values: object) -> Verdict:
    features = rows([one, two])
    return judge_one(method(**values), features.slice(0, 1), features.slice(1, 1))


def test_the_example_of_the_paper() -> None:
    assert spots_of(paper(), SENTENCE) == signatures(SPOTS)


def test_spot_distance_takes_every_second_content_word() -> None:
    found = spots_of(paper(d=2), "the quick brown fox jumps")
    assert found == signatures(["the:brown:jumps"])


def test_a_chain_that_the_page_cuts_short_is_no_spot() -> None:
    assert spots_of(paper(), "the quick") == []


def test_chinese_spots_follow_function_characters() -> None:
    # chains of two words are four characters; other function characters are left out
    found = spots_of(method(), "船员的食物是足够的", "Hani")
    assert found == signatures(["的:食:物:足:够"])


def test_navigation_has_no_spots() -> None:
    menu = "Home News Sport Weather Contact Search Login Register Help Imprint"
    features = method().describe(page_batch([menu], script=["Latn"]))
    assert method().decidable(features).to_pylist() == [False]


def test_other_languages_take_their_stop_words() -> None:
    text = "Der Hafen ist geschlossen und das Eis wartet"
    features = method(minimum_spots=1).describe(page_batch([text], language=["de"]))
    assert len(features["spots"].to_pylist()[0]) > 0


def test_multiset_similarity_by_hand() -> None:
    # of the signatures 1, 2 and 3: minima 1 + 1 + 2, maxima 2 + 1 + 3
    found = verdict([1, 1, 2, 3, 3], [1, 2, 3, 3, 3], minimum_spots=1)
    assert found.similarity == (1 + 1 + 2) / (2 + 1 + 3)
    assert found.relation is Relation.NEAR


@pytest.mark.parametrize(("common", "relation"), [(44, Relation.NEAR), (43, Relation.DIFFERENT)])
def test_tau_is_the_threshold(common: int, relation: Relation) -> None:
    one = list(range(100))
    found = verdict(one, one[:common])
    assert found.similarity == common / 100
    assert found.relation is relation


@given(spot_sets, st.sampled_from([0.2, 0.44, 0.5, 0.75, 1.0]))
def test_candidates_miss_no_pair_over_tau(spots: list[list[int]], tau: float) -> None:
    chosen = method(tau=tau, minimum_spots=1)
    features = rows(spots)
    sets = features["spots"].to_pylist()
    near = {
        (i, j) for (i, a), (j, b) in combinations(enumerate(sets), 2) if resemblance(a, b) >= tau
    }
    assert near <= pair_set(chosen.search(pa.Table.from_batches([features])))
    keys = chosen.keys(features).to_pylist()
    of = [{each["key"] for each in keys if each["row"] == row} for row in range(len(sets))]
    assert all(of[i] & of[j] for i, j in near)


@given(st.lists(st.integers(0, 4), min_size=1), st.lists(st.integers(0, 4), min_size=1))
def test_the_verdict_is_symmetric(one: list[int], two: list[int]) -> None:
    assert verdict(one, two).similarity == verdict(two, one).similarity
