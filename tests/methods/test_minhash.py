"""minhash: resemblance by hand, estimates within their error, bands that find what is near."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from neardup.config import build_options
from neardup.errors import UsageError
from neardup.methods.minhash import Minhash, MinhashOptions, choose_rows
from neardup.model import Relation, Verdict
from page_batches import judge_one, judge_rows, page_batch

FIRST = [f"a{number}" for number in range(24)]


def method(**values: object) -> Minhash:
    return Minhash(build_options(MinhashOptions, values, owner="minhash"))


def verdict(one: list[str], two: list[str], **values: object) -> Verdict:
    chosen = method(**values)
    features = chosen.describe(page_batch([" ".join(one), " ".join(two)]))
    return judge_one(chosen, features.slice(0, 1), features.slice(1, 1))


def test_exact_resemblance_by_hand() -> None:
    # 24 words, 20 shingles of five; the last word changed: 19 in common of 21
    found = verdict(FIRST, [*FIRST[:-1], "other"], verify="exact")
    assert found.similarity == 19 / 21
    assert found.relation is Relation.NEAR
    assert found.evidence["why"] == "19 of 21 shingles are on both pages"


def test_a_word_in_the_middle_changes_five_shingles() -> None:
    found = verdict(FIRST, [*FIRST[:12], "other", *FIRST[13:]], verify="exact")
    assert found.similarity == 15 / 25
    assert found.relation is Relation.DIFFERENT


def test_repeats_do_not_count_and_order_does() -> None:
    pair = FIRST[:3] * 20
    assert verdict(pair, FIRST[:3] * 30, verify="exact").similarity == 1
    assert verdict(FIRST, FIRST[::-1], verify="exact").similarity == 0


@pytest.mark.parametrize("sampling", ["one-permutation", "permutations"])
@pytest.mark.parametrize("changed", [5, 40, 120])
def test_estimates_are_unbiased(sampling: str, changed: int) -> None:
    """Mean error within three standard errors over planted pairs of 300 tokens."""
    pairs = 150
    texts = []
    for pair in range(pairs):
        words = [f"w{pair}x{number}" for number in range(300)]
        texts += [
            " ".join(words),
            " ".join([*words[:-changed], *(w + "y" for w in words[-changed:])]),
        ]
    exact = (296 - changed) / (296 + changed)
    chosen = method(sampling=sampling)
    features = chosen.describe(page_batch(texts))
    even, odd = (features.take(pa.array(np.arange(first, 2 * pairs, 2))) for first in (0, 1))
    errors = np.array(judge_rows(chosen, even, odd)["similarity"].to_pylist()) - exact
    assert abs(errors.mean()) < 3 * errors.std(ddof=1) / np.sqrt(pairs)


@pytest.mark.parametrize(("threshold", "rows"), [(0.5, 3), (0.8, 6), (0.9, 10), (1.0, 128)])
def test_bands_from_the_threshold(threshold: float, rows: int) -> None:
    assert choose_rows(threshold, 128) == rows
    assert method(threshold=threshold).bands_and_rows == (128 // rows, rows)
    assert 1 - (1 - threshold**rows) ** (128 // rows) >= 0.99


def test_bands_as_asked() -> None:
    assert method(bands=9, rows=13).bands_and_rows == (9, 13)
    assert method(bands=16).bands_and_rows == (16, 8)
    assert method(rows=4).bands_and_rows == (32, 4)
    with pytest.raises(UsageError, match="20 bands of 10 rows need 200 samples"):
        method(bands=20, rows=10)


def test_pairs_at_the_threshold_are_found_by_their_bands() -> None:
    texts = []
    for pair in range(200):
        words = [f"w{pair}x{number}" for number in range(300)]
        texts += [" ".join(words), " ".join([*words[:-30], *(w + "y" for w in words[-30:])])]
    chosen = method()
    features = chosen.describe(page_batch(texts))  # resemblance 266 / 326 = 0.816
    keys: dict[int, set[int]] = {}
    batch = chosen.keys(features)
    for row, key in zip(batch["row"].to_pylist(), batch["key"].to_pylist(), strict=True):
        keys.setdefault(key, set()).add(row)
    found = {(i, j) for rows in keys.values() for i in rows for j in rows if i < j}
    assert len(found & {(2 * pair, 2 * pair + 1) for pair in range(200)}) >= 195
    assert all(j == i + 1 for i, j in found)


def test_the_preset_is_the_rule_of_the_paper() -> None:
    chosen = method(**Minhash.paper_preset).options
    assert (chosen.shingle, chosen.threshold, chosen.sampling) == (10, 0.5, "permutations")
