from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from neardup.model import SkipReason
from neardup.rules.identity import Identities, settle_identities
from neardup.schemas import PAGES

NAMES = ["id", "again", "time", "digest", "source", "record"]


def record(id: str, *, again: str = "", day: int = 0, digest: int = 1, place: int = 0) -> Any:  # noqa: A002
    time = datetime(2024, 5, day, tzinfo=UTC) if day else None
    return (id, again, time, digest, "pages.jsonl", place)


def table(records: list[Any]) -> pa.Table:
    columns = zip(*records, strict=True)
    schema = pa.schema([PAGES.field(name) for name in NAMES])
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)


def settled(records: list[Any]) -> Identities:
    read = table(records)
    return settle_identities(read["id"].combine_chunks(), lambda rows: read.take(pa.array(rows)))


def test_pages_are_numbered_in_the_order_of_their_ids() -> None:
    found = settled([record("b"), record("中"), record("a"), record("Z")])
    assert found.ids.to_pylist() == ["Z", "a", "b", "中"]
    assert found.rows.tolist() == [3, 2, 0, 1]
    assert found.skips == []


def test_a_second_use_of_an_id_is_skipped_whatever_the_order() -> None:
    records = [record("a", digest=5, place=0), record("b"), record("a", digest=3, place=2)]
    for _ in range(6):
        random.shuffle(records)
        found = settled(records)
        assert found.ids.to_pylist() == ["a", "b"]
        assert records[found.rows[0]][3] == 3
        (skip,) = found.skips
        assert (skip.id, skip.reason, skip.source.record) == ("a", SkipReason.DUPLICATE_ID, 0)


def test_a_recrawl_takes_its_dated_id_and_the_earliest_keeps_the_plain_one() -> None:
    records = [record("u", again=f"u@{day}", day=day, digest=day) for day in (3, 1, 2)]
    for _ in range(6):
        random.shuffle(records)
        found = settled(records)
        taken = {
            name: records[row][2].day
            for name, row in zip(found.ids.to_pylist(), found.rows, strict=True)
        }
        assert taken == {"u": 1, "u@2": 2, "u@3": 3}
        assert found.skips == []


@pytest.mark.parametrize("copies", [2, 3])
def test_the_very_same_capture_read_twice_is_no_recrawl(copies: int) -> None:
    records = [record("u", again="u@1", day=1, place=place) for place in range(copies)]
    found = settled(records)
    assert found.ids.to_pylist() == ["u"]
    assert len(found.skips) == copies - 1


def test_a_dated_id_that_another_page_has_is_not_taken() -> None:
    records = [record("u", again="u@1", day=1), record("u", again="u@2", day=2), record("u@2")]
    found = settled(records)
    assert found.ids.to_pylist() == ["u", "u@2"]
    assert [skip.id for skip in found.skips] == ["u"]
