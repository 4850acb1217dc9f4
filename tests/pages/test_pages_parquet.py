"""Parquet: column types, bad cells, broken files, bounded batches."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.model import RawPage, Skip
from neardup.pages import Limits
from neardup.pages.parquet import parquet_blocks, read_parquet
from neardup.pages.raw import raw_batch
from neardup.pages.readers import read_records
from neardup.schemas import RAW


def read_table(
    tmp_path: Path, table: pa.Table, limits: Limits | None = None, **options: Any
) -> list[RawPage | Skip]:
    pq.write_table(table, tmp_path / "a.parquet", **options)
    return list(read_records([str(tmp_path / "a.parquet")], limits))


def reasons(items: list[RawPage | Skip]) -> list[str]:
    return [item.id if isinstance(item, RawPage) else str(item.reason) for item in items]


@pytest.mark.parametrize(
    ("kind", "charset"),
    [
        (pa.string(), "utf-8"),
        (pa.large_string(), "utf-8"),
        (pa.binary(), ""),
        (pa.large_binary(), ""),
        (pa.dictionary(pa.int32(), pa.string()), "utf-8"),
    ],
)
def test_types_of_html(tmp_path: Path, kind: pa.DataType, charset: str) -> None:
    html = pa.array(["<p>你好", "<p>b"]).cast(kind)
    items = read_table(tmp_path, pa.table({"id": [1, 2], "html": html}))
    assert reasons(items) == ["1", "2"]
    first = items[0]
    assert isinstance(first, RawPage)
    assert (first.body, first.charset, first.is_html) == ("<p>你好".encode(), charset, True)


def test_all_columns(tmp_path: Path) -> None:
    time = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    columns = {
        "id": ["a", None, None],
        "url": ["http://x.example/", "http://y.example/", None],
        "text": ["t", "t", "t"],
        "title": ["T", None, None],
        "time": pa.array([time, None, time], pa.timestamp("ns", "Asia/Shanghai")),
        "other": [[1], [2], [3]],
    }
    first, second, third = read_table(tmp_path, pa.table(columns))
    assert isinstance(first, RawPage)
    assert (first.id, first.url, first.title, first.time) == ("a", "http://x.example/", "T", time)
    assert not first.is_html
    assert isinstance(second, RawPage)
    assert (second.id, second.time) == ("http://y.example/", None)
    assert isinstance(third, RawPage)
    assert (third.id, third.source.record) == ("a.parquet:2", 2)


def test_bad_cells(tmp_path: Path) -> None:
    broken = pa.array([b"\xff\xfe<p>", b"", None, b"x" * 101, b"\0<p>"]).view(pa.string())
    items = read_table(
        tmp_path, pa.table({"id": list("abcde"), "html": broken}), Limits(page_bytes=100)
    )
    assert reasons(items) == ["a", "empty", "no-content", "too-large", "e"]
    assert isinstance(items[0], RawPage)
    assert items[0].body == b"\xff\xfe<p>"


def test_no_content_column(tmp_path: Path) -> None:
    assert reasons(read_table(tmp_path, pa.table({"id": ["a"]}))) == ["no-content"]


def test_no_rows(tmp_path: Path) -> None:
    assert read_table(tmp_path, pa.table({"html": pa.array([], pa.string())})) == []


def test_many_groups_and_batches(tmp_path: Path) -> None:
    table = pa.table({"id": range(5000), "html": [f"<p>{n}" for n in range(5000)]})
    items = read_table(tmp_path, table, row_group_size=1700)
    assert reasons(items) == [str(n) for n in range(5000)]
    assert [item.source.record for item in items] == list(range(5000))


def test_large_rows_come_in_small_batches(tmp_path: Path) -> None:
    import random

    random.seed(1)
    pages = [random.randbytes(2_000_000) for _ in range(40)]
    table = pa.table({"html": pages})
    # A page of a column chunk is the least that can be read; writers keep them small
    pq.write_table(table, tmp_path / "a.parquet", write_batch_size=1, use_dictionary=False)
    del pages, table
    pa.default_memory_pool().release_unused()
    before = pa.total_allocated_bytes()
    highest = 0
    for item in read_records([str(tmp_path / "a.parquet")]):
        assert isinstance(item, RawPage)
        highest = max(highest, pa.total_allocated_bytes() - before)
    assert highest < 60_000_000  # of 80 MB in one row group


def test_broken_group_does_not_end_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"id": [str(n) for n in range(300)], "html": [f"<p>{n}" for n in range(300)]})
    pq.write_table(table, path, row_group_size=100, compression="zstd", use_dictionary=False)
    about = pq.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    start = about.data_page_offset
    data[start : start + about.total_compressed_size] = b"\xff" * about.total_compressed_size
    path.write_bytes(bytes(data))
    expected = [str(n) for n in range(300)]
    assert reasons(list(read_records([str(path)]))) == [
        *expected[:100],
        "bad-record",
        *expected[200:],
    ]


def test_not_parquet_among_others(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    (tmp_path / "b.html").write_text("<p>x")
    assert reasons(list(read_records([str(tmp_path)]))) == ["unreadable", "b.html"]


texts = st.sampled_from(["", "a", "你好", "t" * 60, "http://x.example/", "a.parquet:1"])
undecodable = st.sampled_from([b"", b"a", b"\xff\xfe", "é".encode()])
moments = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001 - as tables have them
KINDS = {
    "strings": (pa.string(), texts),
    "large strings": (pa.large_string(), texts),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), texts),
    "bytes": (pa.binary(), undecodable),
    "integers": (pa.int32(), st.integers(-5, 5)),
    "floats": (pa.float64(), st.floats(-5, 5)),
    "booleans": (pa.bool_(), st.booleans()),
    "times": (pa.timestamp("us"), moments),
    "zoned times": (
        pa.timestamp("us", "Asia/Shanghai"),
        moments.map(lambda at: at.astimezone(UTC)),
    ),
    "written times": (pa.string(), st.sampled_from(["2024-01-02", "2024-13-02", "soon"])),
    "nothing": (pa.null(), st.none()),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table with some of the columns of pages, of any type."""
    count = draw(st.integers(1, 5))
    columns = {}
    for name in draw(st.sets(st.sampled_from(["id", "url", "title", "time", "html", "text"]))):
        kind, values = KINDS[draw(st.sampled_from(sorted(KINDS)))]
        cells = draw(st.lists(st.none() | values, min_size=count, max_size=count))
        columns[name] = pa.array(cells, kind)
    return pa.table(columns | {"number": range(count)})


@given(tables(), st.sampled_from([Limits(), Limits(page_bytes=50)]))
def test_rows_read_by_column_are_those_read_one_by_one(table: pa.Table, limits: Limits) -> None:
    file = io.BytesIO()
    pq.write_table(table, file)
    records = list(read_parquet("a/a.parquet", file, limits))
    blocks = [block() for block in parquet_blocks("a/a.parquet", file, limits)]
    pages = raw_batch([each for each in records if isinstance(each, RawPage)])
    by_column = pa.Table.from_batches([block.pages for block in blocks], RAW)
    assert by_column.to_pylist() == pages.to_pylist()
    skips = [skip for block in blocks for skip in block.skips]
    assert skips == [each for each in records if isinstance(each, Skip)]


def test_times_that_are_written_as_text(tmp_path: Path) -> None:
    [page] = read_table(tmp_path, pa.table({"text": ["t"], "time": ["2024-01-02T03:04:05Z"]}))
    assert isinstance(page, RawPage)
    assert page.time == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
