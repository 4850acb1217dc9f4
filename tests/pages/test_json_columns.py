"""JSON lines read by column are what Python's parser makes of them, line by line."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.model import RawPage, Skip, SkipReason
from neardup.pages import Limits, jsonl
from neardup.pages.jsonl import line_blocks, read_lines
from neardup.pages.limits import Columns
from neardup.pages.raw import raw_batch
from neardup.pages.streams import Chunk, Chunks, Damage

words = st.text(st.sampled_from([*'"\\/\b\n\r\t\x00\x1f aé茶𠮷\ufeff\ud800\udc00', "\u2028"]))
simple = st.none() | st.booleans() | st.integers() | st.floats() | words
values = st.recursive(simple, lambda inner: st.lists(inner) | st.dictionaries(words, inner))
names = st.sampled_from(["id", "url", "title", "time", "html", "text", "meta", 'a"b', ""])
times = st.sampled_from(
    [
        *("2024-01-02", "2024-02-30", "2024-02-29T23:59:59Z", "2024-01-02 03:04:05+08:00"),
        *("2024-01-02T24:00:00", "0001-01-01T00:00:00+14:00", "0001-01-01", "20240102"),
        *("2024-W01-1", " 2024-01-02 "),
    ]
)
objects = st.lists(st.tuples(names, values | times), max_size=8)
spaces = st.sampled_from(["", " ", "\t", " \r"])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A line of JSON in some spelling, whole or damaged in one place."""
    pairs = draw(objects)
    ascii_only = draw(st.booleans())
    inner = ",".join(
        f"{draw(spaces)}{json.dumps(name)}{draw(spaces)}:{draw(spaces)}"
        + json.dumps(value, ensure_ascii=ascii_only)
        for name, value in pairs
    )
    line = f"{{{inner}{draw(spaces)}}}{draw(spaces)}".encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(line)))
        line = (
            line[:at]
            + draw(st.sampled_from([b"", b'"', b"\\", b"\xff", b"}", b","]))
            + line[at + draw(st.integers(0, 2)) :]
        )
    return line.replace(b"\n", b" ")


def by_column(chunks: Sequence[Chunk], limits: Limits) -> tuple[pa.Table, list[Skip]]:
    batches = [block() for block in line_blocks("a/b.jsonl", Chunks(iter(chunks)), limits)]
    table = pa.Table.from_batches([each.pages for each in batches]).combine_chunks()
    return table, sorted((skip for each in batches for skip in each.skips), key=_place)


def by_line(chunks: Sequence[Chunk], limits: Limits) -> tuple[pa.Table, list[Skip]]:
    records = list(read_lines("a/b.jsonl", Chunks(iter(chunks)), limits))
    pages = [each for each in records if isinstance(each, RawPage)]
    skips = [each for each in records if isinstance(each, Skip)]
    return pa.Table.from_batches([raw_batch(pages)]), sorted(skips, key=_place)


def _place(skip: Skip) -> int:
    return skip.source.record


@given(st.lists(lines(), max_size=6), st.booleans())
@example([b'{"id": 12, "text": "x", "time": 1704164645}', b'{"id": -0, "text": "x"}'], True)
@example([b'{"id": "b.jsonl:0", "text": "x"}', b'{"text": "y"}'], True)
@example([b'{"text": "t", "html": ""}', b'{"text": "t", "html": "h"}'], True)
@example([b'{"html": "h", "text": "\\ud800"}', b'{"text": "\\ud800", "html": "h"}'], False)
@example([b'{"text": "a", "text": "b"}', b'{"html": "a", "html": 5, "text": "c"}'], False)
@example([b'{"text": "x", "n": NaN}', b'{"text": "x", "n": 01}', b'{"text": "x",}', b"\x0b"], False)
@example([b'{"text": "x", "n": ' + b"[" * 40 + b"]" * 40 + b"}"], False)
@example(
    [b'{"url": "' + b"u" * 9000 + b'", "text": "x"}', b'{"text": "' + b"x" * 200 + b'"}'], True
)
def test_lines_by_column(given_lines: list[bytes], ends: bool) -> None:
    limits = Limits(page_bytes=100)
    content = [Chunk(b"\n".join(given_lines) + b"\n" * ends, opens=True)]
    expected, skips = by_line(content, limits)
    found, found_skips = by_column(content, limits)
    assert found.equals(expected)
    assert found_skips == skips


@pytest.mark.parametrize(
    "columns",
    [Columns(text="body", id="doc"), Columns(html="raw", title="meta.title"), Columns(url="link")],
)
def test_columns_by_other_names(columns: Columns) -> None:
    record = {"body": "b", "doc": "d", "raw": "<p>r", "meta": {"title": "t"}, "link": "http://x/"}
    content = [Chunk(json.dumps({**record, "text": "t"}).encode(), opens=True)]
    limits = Limits(columns=columns)
    assert by_column(content, limits)[0].equals(by_line(content, limits)[0])


@pytest.mark.parametrize("size", [1, 7, 1000, 500_000])
def test_blocks_are_cut_at_lines(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Damage, lines beyond the limit and chunks that end anywhere."""
    monkeypatch.setattr(jsonl, "BLOCK_BYTES", 20 * size)
    limits = Limits(page_bytes=1000)  # lines of 1,002,000 bytes
    long = json.dumps({"id": "long", "text": "x" * 1_100_000}).encode()
    wide = [json.dumps({"text": "茶" * n}).encode() for n in range(50)]
    text = b"\xef\xbb\xbf" + b"\n".join([*wide, *([long, b"", long] if size > 1000 else []), *wide])
    stream = io.BytesIO(text)
    chunks = [Chunk(stream.read(size), opens=True)]
    while data := stream.read(size):
        chunks.append(Chunk(data))
    damage = Damage(SkipReason.BAD_RECORD, "broken")
    damaged = [*chunks[: len(chunks) // 3], Chunk(b"", damage=damage), *chunks[len(chunks) // 3 :]]
    for content in (chunks, damaged, [*chunks, Chunk(long), Chunk(b"", damage=damage)]):
        expected, skips = by_line(content, limits)
        found, found_skips = by_column(content, limits)
        assert found.equals(expected)
        assert found_skips == skips
