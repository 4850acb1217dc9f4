"""Files in ranges: every record once, with the number it has in the whole file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.pages import read, read_range, split
from neardup.pages.raw import RawBatch
from neardup.pages.readers import STEP

LINES = [
    b"\xef\xbb\xbf" + json.dumps({"text": "the first"}).encode(),
    *(
        json.dumps({"id": f"p{n}", "html": f"<p>{'word ' * (n % 900)}"}).encode()
        for n in range(900)
    ),
    b"",
    b"not json",
    json.dumps({"text": "x" * 2 * STEP}).encode(),
    json.dumps({"text": "without id"}).encode() + b"\r",
    json.dumps({"text": "without a line end"}).encode(),
]


def records(batches: Iterable[RawBatch]) -> list[object]:
    found: list[object] = []
    for pages, skips in batches:
        found += [*pages.to_pylist(), *skips]
    return found


def in_ranges(path: Path, target: int) -> list[object]:
    return [each for part in split([str(path)], target) for each in records(read_range(part))]


@pytest.mark.parametrize("target", [1, 1000, 100_000, STEP - 1, STEP + 1, 10 * STEP])
def test_lines_in_ranges_of_any_size(tmp_path: Path, target: int) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b"\n".join(LINES))
    whole = records(read([str(path)]))
    # Skips stand after the pages of their batch; which batch that is depends on the ranges
    assert sorted(map(str, in_ranges(path, target))) == sorted(map(str, whole))
    assert (len(split([str(path)], target)) > 1) == (target < path.stat().st_size)


def test_row_groups_in_ranges(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    table = pa.table({"id": map(str, range(100)), "text": [f"text {n}" for n in range(100)]})
    pq.write_table(table, path, row_group_size=10)
    parts = split([str(path)], 300)
    assert 1 < len(parts) <= 10
    assert in_ranges(path, 300) == records(read([str(path)]))


def test_compressed_files_are_one_range(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(LINES)))
    assert len(split([str(path)], 1000)) == 1
    assert in_ranges(path, 1000) == records(read([str(path)]))


def test_a_file_that_cannot_be_read_is_a_range_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "good.jsonl").write_bytes(b'{"text": "good"}')
    parts = split([str(tmp_path)], 1)
    assert len(parts) == 2
    [skip] = records(read_range(parts[0]))
    assert "not a Parquet file" in str(skip)
