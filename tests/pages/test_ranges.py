"""Files in ranges: every record once, with the number it has in the whole file."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from archive_bytes import http, packed, record
from neardup.pages import Limits
from neardup.pages.inputs import find_files
from neardup.pages.ranges import STEP, Range, count_records, cut_archive, read_range, split_file
from neardup.pages.raw import RawBatch
from neardup.pages.readers import read

R = range(100)
REFERS = "WARC-Refers-To: <urn:x:http://a.example/5@2024-05-06T07:08:09Z>\r\n"

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


def split(path: Path, target: int) -> list[Range]:
    return [part for file in find_files([str(path)]) for part in split_file(file, target)]


def read_part(part: Range) -> list[object]:
    return records(block() for block in read_range(part, Limits()))


def in_ranges(path: Path, target: int) -> list[object]:
    return [each for part in split(path, target) for each in read_part(part)]


@pytest.mark.parametrize("target", [1, 1000, 100_000, STEP - 1, STEP + 1, 10 * STEP])
def test_lines_in_ranges_of_any_size(tmp_path: Path, target: int) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b"\n".join(LINES))
    whole = records(read([str(path)]))
    # Skips stand after the pages of their batch; which batch that is depends on the ranges
    assert sorted(map(str, in_ranges(path, target))) == sorted(map(str, whole))
    assert (len(split(path, target)) > 1) == (target < path.stat().st_size)


def test_row_groups_in_ranges(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    table = pa.table({"id": map(str, range(100)), "text": [f"text {n}" for n in range(100)]})
    pq.write_table(table, path, row_group_size=10)
    parts = split(path, 300)
    assert 1 < len(parts) <= 10
    assert in_ranges(path, 300) == records(read([str(path)]))


def test_compressed_files_are_one_range(tmp_path: Path) -> None:
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(LINES)))
    assert len(split(path, 1000)) == 1
    assert in_ranges(path, 1000) == records(read([str(path)]))


def archive(path: Path, *, damage: bool = False) -> Path:
    """Pages of all sizes, a revisit, and a page that holds an archive, not compressed."""
    noise = random.Random(3).randbytes
    pages = [record(f"http://a.example/{n}", http(noise(n % 7 * 999).hex().encode())) for n in R]
    pages[40] = record("http://a.example/40", http(packed(*pages[:3]) + noise(70_000), "image/x"))
    pages.append(record("http://a.example/5", b"", kind="revisit", headers=REFERS))
    content = packed(*pages[:40]) + gzip.compress(pages[40], 0, mtime=0) + packed(*pages[41:])
    if damage:
        content = content[: len(content) // 2] + content[len(content) // 2 + 100 :]
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("target", [1000, 30_000, 100_000])
def test_archives_in_ranges(tmp_path: Path, target: int) -> None:
    path = archive(tmp_path / "pages.warc.gz")
    [file] = find_files([str(path)])
    parts = cut_archive(file, target)
    assert len(parts) > 1
    assert [parts[0].start, parts[-1].end] == [0, path.stat().st_size]
    counts = [count_records(part, Limits()) for part in parts]
    if None in counts:  # a range begins inside the archive that is a page
        assert target == 1000
        return
    firsts = accumulate((count or 0 for count in counts[:-1]), initial=0)
    parts = [replace(part, first=first) for part, first in zip(parts, firsts, strict=True)]
    found = [each for part in parts for each in read_part(part)]
    # What a revisit repeats comes last; in a range it is not found.
    *whole, _ = records(read([str(path)]))
    *others, revisit = found
    assert sorted(map(str, others)) == sorted(map(str, whole))
    assert "what it repeats is not in the input" in str(revisit)


def test_archives_that_do_not_come_apart(tmp_path: Path) -> None:
    damaged = archive(tmp_path / "damaged.warc.gz", damage=True)
    plain = tmp_path / "plain.warc"
    plain.write_bytes(record("http://a.example/") * 1000)
    [file, other] = find_files([str(damaged), str(plain)])
    assert None in [count_records(part, Limits()) for part in cut_archive(file, 30_000)]
    assert len(cut_archive(other, 1000)) == 1


def test_a_file_that_cannot_be_read_is_a_range_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "good.jsonl").write_bytes(b'{"text": "good"}')
    parts = split(tmp_path, 1)
    assert len(parts) == 2
    [skip] = read_part(parts[0])
    assert "not a Parquet file" in str(skip)
