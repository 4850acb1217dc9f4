from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import UsageError
from neardup.rules.keeping import POLICIES, choose_kept

DAY = [datetime(2024, 5, day, tzinfo=UTC) for day in range(1, 5)]


def pages(**columns: list[object]) -> pa.Table:
    count = len(next(iter(columns.values())))
    given = {
        "length": [10] * count,
        "time": [None] * count,
        "url": [""] * count,
        "canonical_url": [""] * count,
        **columns,
    }
    types = [pa.int64(), pa.timestamp("us", tz="UTC"), pa.string(), pa.string()]
    return pa.table(
        {name: pa.array(given[name], kind) for name, kind in zip(given, types, strict=True)}
    )


def kept(policy: str, table: pa.Table, labels: list[int]) -> list[int]:
    return list(choose_kept(policy, table, np.array(labels)))


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
    table = table.set_column(3, "canonical_url", pa.array([canonical(here)] * 3))
    assert kept("canonical", table, [0, 0, 0]) == [2, 2, 2]


def canonical(url: str) -> str:
    from neardup.pages.urls import canonicalise

    return canonicalise(url)


def test_canonical_without_votes_takes_the_shortest_url() -> None:
    table = pages(url=["http://a.example/long/path", "http://a.example/s", ""])
    assert kept("canonical", table, [0, 0, 0]) == [1, 1, 1]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_page_alone_keeps_itself(policy: str) -> None:
    assert kept(policy, pages(length=[1, 2, 3]), [0, 1, 2]) == [0, 1, 2]


def test_an_unknown_policy_lists_those_there_are() -> None:
    with pytest.raises(UsageError, match="longest, first, newest, oldest, canonical"):
        choose_kept("shortest", pages(length=[1]), np.array([0]))
