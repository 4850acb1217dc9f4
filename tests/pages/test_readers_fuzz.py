"""Random and mutated bytes through every reader: nothing escapes but an error before any record.

Hypothesis looks for bytes that a reader trips over. The mutants below it are the same in every run:
damage to one record costs no other, and a run over thousands of damaged files ends well, with the
pages of all others. `NEARDUP_TORTURE=1` makes a thousand mutants of each seed.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import brotli
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import NeardupError
from neardup.model import RawPage, Skip, Source
from neardup.pages import Limits
from neardup.pages.readers import read, read_records
from neardup.pages.writers import writer_for

FORMS = "html html.gz txt warc warc.gz warc.zst arc jsonl jsonl.gz jsonl.zst csv csv.gz parquet "
FORMS += "arrow unknown"
LIMITS = Limits(page_bytes=5000)
TORTURE = bool(os.environ.get("NEARDUP_TORTURE"))
MUTANTS = 1000 if TORTURE else 15  # of each seed


def check(name: str, data: bytes) -> None:
    """Read the bytes under this name; a reader may refuse them whole, or give pages and skips."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        items = read_records([str(path)], LIMITS, keep_original=True)
        try:
            first = next(items, None)
        except NeardupError:
            return
        for item in [first, *items]:
            assert item is None or isinstance(item, RawPage | Skip)
            if isinstance(item, RawPage):
                assert 0 < len(item.body) <= LIMITS.page_bytes
                assert item.id.encode()


@pytest.mark.parametrize("form", FORMS.split())
@given(data=st.binary(max_size=2000))
def test_random_bytes(form: str, data: bytes) -> None:
    check(f"a.{form}", data)


def page(number: int) -> RawPage:
    return RawPage(
        id=f"p{number}",
        body=f"<html><p>Page {number} 你好".encode() * 20,
        is_html=number % 3 > 0,
        source=Source("x", number),
        url=f"http://site.example/{number}",
        time=datetime(2024, 1, 1, tzinfo=UTC),
        charset="utf-8",
    )


@cache
def good(form: str, numbers: range = range(6)) -> bytes:
    """Some pages, written well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{form}"
        with writer_for(path) as writer:
            for number in numbers:
                writer.write(page(number))
        return path.read_bytes()


HTML_ONLY = range(1, 18, 3)  # a CSV file has one kind of page
PACKED = gzip.compress(b"<p>" * 900, mtime=0)
BLOCKS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(PACKED), PACKED),
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\n"
    + brotli.compress(b"<p>" * 900),
)
HEAD = (
    b"WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://x.example/\r\nWARC-Refers-To: <a>\r\n"
    b"WARC-Record-ID: <a>\r\nWARC-Date: 2024-01-01T00:00:00Z\r\nContent-Length: %d\r\n\r\n"
)
RESPONSES = b"".join(
    HEAD % (kind, len(block)) + block + b"\r\n\r\n"
    for kind in (b"response", b"revisit")
    for block in BLOCKS
)
ARC = (
    b"filedesc://x.arc 0.0.0.0 20050607080910 text/plain 8\n1 0 Arc\n\n"
    + b"http://x.example/ 192.0.2.1 20050607080910 text/html 12\n<html>a page\n" * 4
)
STORY = "<html><head><meta charset={}><title>茶山</title></head><p>" + "渡口的茶山，四月。" * 40


def arrow_stream() -> bytes:
    stream = io.BytesIO()
    table = pa.table({"id": ["a", "b"], "html": ["<p>x</p>" * 50] * 2})
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    return stream.getvalue()


SEEDS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "warc": ("a.warc", lambda: good(".warc")),
    "warc.gz": ("a.warc.gz", lambda: good(".warc.gz")),
    "warc.zst": ("a.warc.zst", lambda: good(".warc.zst")),
    "responses": ("a.warc", lambda: RESPONSES),
    "one member": ("a.warc.gz", lambda: gzip.compress(RESPONSES, mtime=0)),
    "arc": ("a.arc", lambda: ARC),
    "jsonl": ("a.jsonl", lambda: good(".jsonl")),
    "jsonl.gz": ("a.jsonl.gz", lambda: good(".jsonl.gz")),
    "jsonl.zst": ("a.jsonl.zst", lambda: good(".jsonl.zst")),
    "parquet": ("a.parquet", lambda: good(".parquet")),
    "csv": ("a.csv", lambda: good(".csv", HTML_ONLY)),
    "csv.gz": ("a.csv.gz", lambda: good(".csv.gz", HTML_ONLY)),
    "arrow": ("a.arrow", lambda: good(".arrow")),
    "arrow stream": ("a.arrow", arrow_stream),
    "html": ("a.html", lambda: STORY.format("utf-8").encode()),
    "gb18030": ("a.html", lambda: STORY.format("gb18030").encode("gb18030")),
    "big5": ("a.html", lambda: STORY.format("big5").encode("big5", "ignore")),
    "utf-16": ("a.html", lambda: STORY.format("utf-16").encode("utf-16")),
    "txt": ("a.txt", ("渡口的茶山，四月。\n" * 40).encode),
    "html.gz": ("a.html.gz", lambda: gzip.compress(b"<p>" * 500, mtime=0)),
    "html.zst": ("a.html.zst", lambda: zstandard.ZstdCompressor().compress(b"<p>" * 500)),
}
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "insert", "repeat"]),
        st.floats(0, 1),
        st.integers(0, 60),
        st.binary(min_size=1, max_size=8),
    ),
    min_size=1,
    max_size=5,
)


def mutated(data: bytes, edits: list[tuple[str, float, int, bytes]]) -> bytes:
    for how, where, length, fresh in edits:
        at = int(where * len(data))
        if how == "set":
            data = data[:at] + fresh + data[at + len(fresh) :]
        elif how == "cut":
            data = data[:at] + data[at + length :]
        elif how == "insert":
            data = data[:at] + fresh + data[at:]
        else:
            data = data[:at] + data[max(0, at - length * 20) :]
    return data


@pytest.mark.parametrize("seed", SEEDS)
@given(edits=EDITS)
def test_mutated_files(seed: str, edits: list[tuple[str, float, int, bytes]]) -> None:
    name, make = SEEDS[seed]
    check(name, mutated(make(), edits))


@pytest.mark.parametrize("seed", SEEDS)
@given(where=st.floats(0, 1))
def test_truncated_files(seed: str, where: float) -> None:
    name, make = SEEDS[seed]
    data = make()
    check(name, data[: int(where * len(data))])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_seeds_are_good(seed: str, tmp_path: Path) -> None:
    name, make = SEEDS[seed]
    (tmp_path / name).write_bytes(make())
    items = list(read_records([str(tmp_path)]))
    assert items
    assert all(isinstance(item, RawPage) for item in items), items


# Mutants: the same in every run


def mutant(seed: str, number: int) -> bytes:
    """The bytes of a seed with some damage, under its compression or on top of it."""
    draw = random.Random(f"{seed} {number}")
    data = SEEDS[seed][1]()
    if data.startswith(b"\x1f\x8b") and draw.random() < 0.5:
        return gzip.compress(damaged(gzip.decompress(data), draw), mtime=0)
    return damaged(data, draw)


def damaged(data: bytes, draw: random.Random) -> bytes:
    kinds = ["set", "cut", "insert", "repeat"]
    edits = [
        (draw.choice(kinds), draw.random(), draw.randrange(60), draw.randbytes(draw.randint(1, 8)))
        for _ in range(draw.randint(1, 5))
    ]
    data = mutated(data, edits)
    return data[: draw.randrange(len(data) + 1)] if draw.random() < 0.2 else data


@pytest.mark.parametrize("seed", SEEDS)
def test_mutants(seed: str, tmp_path: Path) -> None:
    """Record by record and in blocks a damaged file is the same, in little time."""
    path = tmp_path / SEEDS[seed][0]
    (tmp_path / "b.jsonl").write_bytes(good(".jsonl"))
    for number in range(MUTANTS):
        path.write_bytes(mutant(seed, number))
        start = time.process_time()
        items = list(read_records([str(tmp_path)], LIMITS))
        blocks = list(read([str(tmp_path)], LIMITS))
        assert time.process_time() - start < 5, number
        pages = [item for item in items if isinstance(item, RawPage)]
        in_blocks = [row for block in blocks for row in block.pages.to_pylist()]
        assert [(row["id"], row["body"]) for row in in_blocks] == [
            (each.id, each.body) for each in pages
        ], number
        skips = {item for item in items if isinstance(item, Skip)}
        assert {skip for block in blocks for skip in block.skips} == skips, number
        beside = [each for each in pages if each.source.path.endswith("b.jsonl")]
        assert [each.id for each in beside] == [f"p{n}" for n in range(6)], number


Spans = list[tuple[int, int]]  # where records begin and end


def concatenated(form: str) -> tuple[bytes, Spans]:
    """A file of records that were written one by one."""
    records = [good(form, range(number, number + 1)) for number in HTML_ONLY]
    return b"".join(records), spans_of([len(each) for each in records])


def lines() -> tuple[bytes, Spans]:
    """Lines with an end on both sides: without one between them, two lines are one."""
    each = [b"\n" + good(".jsonl", range(number, number + 1)) for number in HTML_ONLY]
    return b"".join(each), spans_of([len(line) for line in each])


def frames() -> tuple[bytes, Spans]:
    """Lines in frames with checksums: without, damage may change a line into another."""
    pack = zstandard.ZstdCompressor(write_checksum=True).compress
    each = [pack(good(".jsonl", range(number, number + 1))) for number in HTML_ONLY]
    return b"".join(each), spans_of([len(frame) for frame in each])


def spans_of(sizes: list[int], start: int = 0) -> Spans:
    ends = [start + sum(sizes[: number + 1]) for number in range(len(sizes))]
    return list(zip([start, *ends], ends, strict=False))


def csv_rows() -> tuple[bytes, Spans]:
    head, *rows = good(".csv", HTML_ONLY).splitlines(keepends=True)
    return head + b"".join(rows), spans_of([len(row) for row in rows], len(head))


def row_groups() -> tuple[bytes, Spans]:
    stream, table = io.BytesIO(), pq.read_table(pa.BufferReader(good(".parquet", HTML_ONLY)))
    pq.write_table(table, stream, row_group_size=1)
    about = pq.read_metadata(pa.BufferReader(stream.getvalue()))
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    starts = [group.column(0).dictionary_page_offset for group in groups]
    last = groups[-1].column(groups[-1].num_columns - 1)
    end = (last.dictionary_page_offset or last.data_page_offset) + last.total_compressed_size
    ends = [*starts[1:], end]
    return stream.getvalue(), list(zip(starts, ends, strict=True))


def arrow_batches() -> tuple[bytes, Spans]:
    stream, spans = io.BytesIO(), []
    table = pa.ipc.open_file(good(".arrow", HTML_ONLY)).read_all()
    with pa.ipc.new_file(stream, table.schema) as writer:
        for number in range(table.num_rows):
            start = stream.tell()
            writer.write_table(table.slice(number, 1))
            spans.append((start, stream.tell()))
    return stream.getvalue(), spans


RECORDS: dict[str, Callable[[], tuple[bytes, Spans]]] = {
    "warc": lambda: concatenated(".warc"),
    "warc.gz": lambda: concatenated(".warc.gz"),
    "warc.zst": lambda: concatenated(".warc.zst"),
    "jsonl": lines,
    "jsonl.gz": lambda: concatenated(".jsonl.gz"),
    "jsonl.zst": frames,
    "csv": csv_rows,
    "parquet": row_groups,
    "arrow": arrow_batches,
}


# Bytes at the start of a file, of which no record is the owner: how it is compressed, the schema.
STARTS = {"warc.gz": 4, "warc.zst": 4, "jsonl.gz": 4, "jsonl.zst": 4, "arrow": 600}
# Bytes at the end of a record without which the next cannot be told from it.
ENDS = {"warc": 4, "csv": 2}


@pytest.mark.parametrize("form", RECORDS)
def test_damage_to_a_record_costs_no_other(form: str, tmp_path: Path) -> None:
    data, spans = RECORDS[form]()
    path = tmp_path / f"a.{form}"
    for number in range(MUTANTS):
        draw = random.Random(f"{form} {number}")
        which = draw.randrange(len(spans))
        start, end = max(spans[which][0], STARTS.get(form, 0)), spans[which][1] - ENDS.get(form, 0)
        record = bytearray(data[start:end])
        for _ in range(draw.randint(1, 5)):
            record[draw.randrange(len(record))] = draw.randrange(256)
        if form == "csv":  # a quotation mark may take in what follows it
            record = record.replace(b'"', b"'")
        path.write_bytes(data[:start] + bytes(record) + data[end:])
        items = list(read_records([str(path)]))
        bodies = {each.body for each in items if isinstance(each, RawPage)}
        skips = [each for each in items if isinstance(each, Skip)]
        lost = [n for at, n in enumerate(HTML_ONLY) if at != which and page(n).body not in bodies]
        assert not lost, (number, which, skips)
        assert len(bodies) + len(skips) >= len(spans), number


def test_a_run_over_damaged_files(tmp_path: Path) -> None:
    """Exit code 0, no traceback, bounded memory and time, and the pages of all other files."""
    for seed, (name, _) in SEEDS.items():
        folder = tmp_path / "pages" / seed
        folder.mkdir(parents=True)
        for number in range(MUTANTS):
            (folder / f"{number:04}{name[1:]}").write_bytes(mutant(seed, number))
        (folder / "beside.html").write_text(f"<p>A page beside mutants of {seed}.</p>")
    command = [sys.executable, "-m", "neardup", "dedup", str(tmp_path / "pages")]
    command += ["--out", str(tmp_path / "out"), "--no-report"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert time.monotonic() - start < 60 + 0.05 * MUTANTS * len(SEEDS)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["run"]["peak_memory_bytes"] < 1_500_000_000
    kept = (tmp_path / "out" / "clusters.jsonl").read_text()
    assert not [seed for seed in SEEDS if f'"{seed}/beside.html"' not in kept]
