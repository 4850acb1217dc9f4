from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import UsageError
from neardup.rules.keeping import BY_RULE, POLICIES, JudgedPairs, choose_kept, keep_policy

DAY = [datetime(2024, 5, day, tzinfo=UTC) for day in range(1, 5)]


def pages(**columns: Sequence[object]) -> pa.Table:
    count = len(next(iter(columns.values())))
    given = {
        "length": [10] * count,
        "time": [None] * count,
        "observed": [True] * count,
        "url": [""] * count,
        "canonical_url": [""] * count,
        **columns,
    }
    types = [pa.int64(), pa.timestamp("us", tz="UTC"), pa.bool_(), pa.string(), pa.string()]
    return pa.table(
        {name: pa.array(given[name], kind) for name, kind in zip(given, types, strict=True)}
    )


def kept(
    policy: str, table: pa.Table, labels: list[int], *judged: tuple[int, int, float]
) -> list[int]:
    left, right, similarity = zip(*judged, strict=True) if judged else ((), (), ())
    numbers = np.array(left, np.int64), np.array(right, np.int64)
    pairs = JudgedPairs(*numbers, np.array(similarity, np.float64))
    return list(choose_kept(policy, table, np.array(labels), pairs))


def test_longest_takes_the_most_text_then_the_smallest_id() -> None:
    assert kept("longest", pages(length=[5, 9, 9, 1]), [0, 0, 0, 3]) == [1, 1, 1, 3]


def test_first_takes_the_smallest_id() -> None:
    assert kept("first", pages(length=[5, 9, 9, 1]), [0, 0, 2, 2]) == [0, 0, 2, 2]


@pytest.mark.parametrize(("policy", "best"), [("newest", 2), ("oldest", 1)])
def test_newest_and_oldest_put_pages_without_a_time_last(policy: str, best: int) -> None:
    table = pages(time=[None, DAY[0], DAY[3], DAY[1]])
    assert kept(policy, table, [0, 0, 0, 0]) == [best] * 4


@pytest.mark.parametrize("policy", ["newest", "oldest"])
def test_without_any_time_the_smallest_id_is_kept(policy: str) -> None:
    assert kept(policy, pages(time=[None, None]), [0, 0]) == [0, 0]


def test_canonical_takes_the_page_that_the_others_name() -> None:
    here = "http://a.example/story"
    table = pages(
        url=["http://a.example/s?print=1", "http://b.example/x", "http://a.example/story"],
        canonical_url=[here, here, here],
    )
    table = table.set_column(4, "canonical_url", pa.array([canonical(here)] * 3))
    assert kept("canonical", table, [0, 0, 0]) == [2, 2, 2]


def canonical(url: str) -> str:
    from neardup.pages.urls import canonicalise

    return canonicalise(url)


def test_canonical_without_votes_takes_the_shortest_url() -> None:
    table = pages(url=["http://a.example/long/path", "http://a.example/s", ""])
    assert kept("canonical", table, [0, 0, 0]) == [1, 1, 1]


STORY, PRINT = "http://a.example/story", "http://a.example/story?print=1"


def test_original_takes_what_others_name_before_anything_else() -> None:
    table = pages(
        url=[PRINT, "http://b.example/copy", STORY],
        canonical_url=[canonical(STORY), canonical("http://b.example/copy"), canonical(STORY)],
        time=[DAY[0], DAY[1], DAY[3]],
    )
    assert kept("original", table, [0, 0, 0]) == [2, 2, 2]


def test_a_page_that_names_itself_is_not_named_by_others() -> None:
    """Two captures of one URL are no two voices for it."""
    table = pages(
        url=["http://spam.example/", "http://spam.example/", STORY],
        canonical_url=[canonical("http://spam.example/")] * 2 + [canonical(STORY)],
        time=[DAY[2], DAY[1], DAY[0]],
    )
    assert kept("original", table, [0, 0, 0]) == [2, 2, 2]


def test_original_takes_the_earliest_time_that_was_observed() -> None:
    table = pages(time=[DAY[0], None, DAY[2], DAY[3]], observed=[False, True, True, True])
    assert kept("original", table, [0, 0, 0, 0]) == [2] * 4
    claimed = pages(time=[DAY[0], DAY[1]], observed=[None, False], length=[90, 100])
    assert kept("original", claimed, [0, 0]) == [1, 1]


def test_original_takes_the_page_closest_to_the_others() -> None:
    table = pages(length=[130, 100, 100])
    assert kept("original", table, [0, 0, 0], (0, 1, 0.8), (0, 2, 0.8), (1, 2, 1.0)) == [1, 1, 1]
    # 3 is the twin of 2 and is not known to be close to any other.
    judged = (0, 1, 0.95), (0, 2, 0.95), (1, 2, 0.95), (2, 3, 1.0)
    assert kept("original", pages(length=[100] * 4), [0, 0, 0, 0], *judged)[0] == 2


def test_original_takes_the_longer_text_unless_it_only_adds_to_the_other() -> None:
    assert kept("original", pages(length=[100, 108]), [0, 0], (0, 1, 0.93)) == [0, 0]
    assert kept("original", pages(length=[108, 100]), [0, 0], (0, 1, 0.93)) == [1, 1]
    assert kept("longest", pages(length=[100, 108]), [0, 0], (0, 1, 0.93)) == [1, 1]
    # More than a tenth longer; another text instead of the same and some more; never compared.
    assert kept("original", pages(length=[100, 112]), [0, 0], (0, 1, 0.9)) == [1, 1]
    assert kept("original", pages(length=[100, 108]), [0, 0], (0, 1, 0.8)) == [1, 1]
    assert kept("original", pages(length=[100, 108]), [0, 0]) == [1, 1]


def test_additions_to_additions_do_not_win_either() -> None:
    judged = (0, 1, 0.95), (0, 2, 0.95), (1, 2, 0.95)
    assert kept("original", pages(length=[100, 105, 109]), [0, 0, 0], *judged) == [0, 0, 0]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_page_alone_keeps_itself(policy: str) -> None:
    assert kept(policy, pages(length=[1, 2, 3]), [0, 1, 2]) == [0, 1, 2]


def test_an_unknown_policy_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="original, longest, first, newest, oldest, canonical"):
        choose_kept("shortest", pages(length=[1]), np.array([0]))


def test_with_a_repository_the_rule_says_what_is_kept() -> None:
    assert keep_policy(None, by_rule=False) == "original"
    assert keep_policy(None, by_rule=True) == keep_policy(BY_RULE, by_rule=True) == BY_RULE
    with pytest.raises(UsageError, match="omit keep=newest, or set joining=components"):
        keep_policy("newest", by_rule=True)
