"""From raw pages to page records: `schemas.PAGES`, one row per page, in order.

1. `charset.bodies_to_utf8` makes UTF-8 of the bytes.
2. `kernels.scan` writes text, blocks and counts of the whole batch into its arrays. A page that
   shows nothing of the article in its JSON-LD is given that text (`metadata.article_body`).
   Plain texts have only lines, which `kernels.plain_text` writes.
3. `kernels.characters.unmix` writes words that mix scripts in one.
4. `metadata.Statements` reads the few places where the pages speak about themselves.
5. Sentences and scripts are counted over the text of the batch at once, if somebody asks for them.

Each step is a kernel over the whole batch, without the interpreter lock; Python looks only at the
pages that a kernel marks as unusual.

No bytes are so bad that a page is refused. Of two sources of a fact the record's own wins: its
title, its time (for a WARC that is the capture), its URL. The page's word fills what it leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from neardup.arrays import (
    Mask,
    booleans,
    list_array,
    number_array,
    offsets_of,
    sound,
    string_array,
    string_buffers,
    string_columns,
)
from neardup.kernels import scan_meta
from neardup.kernels.characters import count_scripts, unmix
from neardup.kernels.plain_text import normal_texts
from neardup.kernels.scan import Scan, Scanner
from neardup.kernels.sentences import count_sentences
from neardup.model import Block, BlockKind, Page, RawPage, Region
from neardup.pages.urls import canonicalise, host
from neardup.schemas import DESCRIPTION, PAGES, TIME
from neardup.text import metadata
from neardup.text.charset import Bodies, bodies_to_utf8
from neardup.text.metadata import Statements, language_of_script, main_script, main_scripts

ALL = frozenset(PAGES.names)
FEW = 4  # pages of a batch that are not worth a column


def parse(
    raw: pa.RecordBatch, *, alt_texts: bool = False, columns: Collection[str] = ALL
) -> pa.RecordBatch:
    """The records of raw pages (`schemas.RAW`). Their text must stay below 2 GiB in all.

    `columns` names the columns of `schemas.PAGES` to make, and may name `description`.
    """
    bodies = bodies_to_utf8(*string_buffers(raw["body"]), lambda row: raw["charset"][row].as_py())
    parsed = _Parsed(bodies, booleans(raw["is_html"]), alt_texts=alt_texts)
    stated = Statements(bodies.data, bodies.ends, parsed.places)
    made = {name: raw[name] for name in ("id", "again", "source", "record")}
    if {"url", "canonical_url", "host"} & {*columns}:
        addresses = stated.addresses(raw["url"])
        made |= zip(("url", "canonical_url", "host"), addresses, strict=True)
    if {"script", "language"} & {*columns}:
        made["script"] = main_scripts(parsed.scripts)
    makers: dict[str, Callable[[], pa.Array]] = {
        "title": lambda: unmixed(stated.titles(raw["title"])),
        "time": lambda: _times(raw["time"], stated),
        "charset": lambda: pa.array(bodies.charsets, pa.string()),
        "language": lambda: stated.languages(made["script"]),
        "size": lambda: pc.binary_length(raw["body"]),
        "description": lambda: stated.column(scan_meta.DESCRIPTION),
    }
    return _batch(columns, made, makers | parsed.makers)


def parse_pages(pages: Sequence[RawPage], columns: Collection[str] = ALL) -> pa.RecordBatch:
    """The records of one raw page or a few (`FEW`): what they state is read page by page, and no
    column is made to be read again, which takes half the time."""
    sizes = np.array([len(page.body) for page in pages], np.int64)
    data = np.frombuffer(b"".join([page.body for page in pages]), np.uint8)
    bodies = bodies_to_utf8(data, offsets_of(sizes), lambda row: sound(pages[row].charset))
    parsed = _Parsed(bodies, np.array([page.is_html for page in pages]), alt_texts=False)
    rows = [_stated(page, row, bodies, parsed) for row, page in enumerate(pages)]
    values = dict(zip(_STATED, zip(*rows, strict=True), strict=True))
    texts = [name for name in _STATED_TEXTS if name in columns]
    made = dict(zip(texts, string_columns(*(values[name] for name in texts)), strict=True))
    makers: dict[str, Callable[[], pa.Array]] = {
        "time": lambda: pa.array(values["time"], TIME),
        "size": lambda: number_array(sizes),
        "record": lambda: number_array(np.array(values["record"], np.int64)),
    }
    return _batch(columns, made, makers | parsed.makers)


# What a page states, or what is stated about it.
_ADDRESSES = ("id", "again", "url", "canonical_url", "host")
_STATED_TEXTS = (*_ADDRESSES, "title", "language", "script", "charset", "source")
_STATED = (*_STATED_TEXTS, "time", "record")


def _stated(page: RawPage, row: int, bodies: Bodies, parsed: _Parsed) -> tuple[object, ...]:
    """What `_STATED` names of a page."""
    content, places = bodies.page(row), parsed.places[row].tolist()
    script = main_script(parsed.scripts[row].tolist())
    url, canonical = metadata.address(content, places, sound(page.url))
    title = sound(page.title) or metadata.stated(content, places, scan_meta.TITLE)
    if not title.isascii():
        data = np.frombuffer(title.encode(), np.uint8)
        title = unmix(data, np.array([0, data.size], np.int64))[0].tobytes().decode()
    language = metadata.language(content, places, script)
    time = page.time or metadata.published(content, places)
    about = page.id, page.again, url, canonical, host(url), title, language, script
    return *about, bodies.charsets[row], page.source.path, time, page.source.record


class _Parsed:
    """Pages that are scanned, and the columns that follow."""

    def __init__(self, bodies: Bodies, is_html: Mask, *, alt_texts: bool) -> None:
        self._bodies = bodies
        self._scan = _scan(bodies, is_html, alt_texts=alt_texts)
        self._text = unmix(self._scan.text, self._scan.text_ends)

    @property
    def places(self) -> NDArray[np.int64]:
        """Where pages state something: see `Scan`."""
        return self._scan.places

    @cached_property
    def scripts(self) -> NDArray[np.int64]:
        """How many letters of each script each page has."""
        return count_scripts(*self._text)

    @property
    def makers(self) -> dict[str, Callable[[], pa.Array]]:
        scan = self._scan
        return {
            "text": lambda: string_array(*self._text),
            "kinds": lambda: list_array(scan.kinds, scan.block_ends),
            "regions": lambda: list_array(scan.regions, scan.block_ends),
            "link_shares": lambda: list_array(scan.link_shares, scan.block_ends),
            "tables": lambda: self._counts(0),
            "images": lambda: self._counts(1),
            "anchors": lambda: self._counts(2),
            "sentences": lambda: number_array(count_sentences(*self._text)),
            "digest": lambda: _digests(self._bodies),
        }

    def _counts(self, which: int) -> pa.Array:
        return number_array(self._scan.counts[:, which].astype(np.int32))


def _batch(
    columns: Collection[str],
    made: Mapping[str, pa.Array],
    makers: Mapping[str, Callable[[], pa.Array]],
) -> pa.RecordBatch:
    schema = _schema_of(frozenset(columns))
    arrays = [made[name] if name in made else makers[name]() for name in schema.names]
    return pa.record_batch(arrays, schema=schema)


@cache
def _schema_of(columns: frozenset[str]) -> pa.Schema:
    """The schema of these columns; kept, as making it takes a tenth of a page's time."""
    return pa.schema([field for field in (*PAGES, DESCRIPTION) if field.name in columns])


def _scan(bodies: Bodies, is_html: Mask, *, alt_texts: bool) -> Scan:
    if not is_html.any():
        return _scan_texts(bodies)
    data, ends, _ = bodies
    scanner = Scanner(len(is_html), int(ends[-1] - ends[0]))
    while scanner.scan_pages(data, ends, is_html, alt_texts=alt_texts):
        page = scanner.page - 1
        article = metadata.article_body(bodies.page(page), scanner.places[page])
        if article and not metadata.shows(scanner.last_text(), article):
            scanner.rescan(np.frombuffer(article, np.uint8), html=b"<" in article)
    return scanner.result()


def _scan_texts(bodies: Bodies) -> Scan:
    """What the scanner makes of plain texts, in a tenth of the time: lines, and nothing else."""
    normal = normal_texts(bodies.data, bodies.ends)
    pages, lines = len(bodies.ends) - 1, int(normal.lines[-1])
    return Scan(
        text=normal.text,
        text_ends=normal.ends,
        kinds=np.zeros(lines, np.uint8),
        regions=np.zeros(lines, np.uint8),
        link_shares=np.zeros(lines, np.float32),
        block_ends=normal.lines,
        counts=np.zeros((pages, 3), np.int64),
        places=np.zeros((pages, scan_meta.KINDS, 2), np.int64),
    )


def _times(known: pa.Array, stated: Statements) -> pa.Array:
    if not known.null_count:
        return known
    return pc.coalesce(known, stated.times(booleans(known.is_null())))


def _digests(bodies: Bodies) -> pa.Array:
    digests = [xxh3_64_intdigest(bodies.page(row)) for row in range(bodies.ends.size - 1)]
    return number_array(np.array(digests, np.uint64))


_PAGE_FIELDS = [field.name for field in fields(Page) if field.name != "blocks"]


def pages_from(batch: pa.RecordBatch) -> list[Page]:
    """The rows of a batch as objects, for people."""
    return [
        Page(blocks=_blocks(row), **{name: row[name] for name in _PAGE_FIELDS})
        for row in batch.to_pylist()
    ]


def _blocks(row: dict[str, Any]) -> tuple[Block, ...]:
    lines = row["text"].split("\n") if row["kinds"] else []
    columns = zip(lines, row["kinds"], row["regions"], row["link_shares"], strict=True)
    return tuple(
        Block(text, BlockKind(kind), Region(region), share) for text, kind, region, share in columns
    )


def parse_texts(
    texts: pa.LargeStringArray, about: Mapping[str, pa.Array], columns: Collection[str]
) -> pa.RecordBatch:
    """The columns of `schemas.PAGES` that are named, and `length`, in characters.

    `about` has the columns `id`, `record`, `url`, `title` and `time` of the texts. The texts must
    stay below 2 GiB in all.
    """
    records = _Records(texts, about)
    names = [name for name in PAGES.names if name in columns]
    about = {**about, "title": unmixed(about["title"])}
    arrays = [about[name] if name in about else records.column(name) for name in names]
    batch = pa.record_batch(arrays, schema=pa.schema([PAGES.field(name) for name in names]))
    return batch.append_column("length", pa.array(records.lengths))


def unmixed(column: pa.StringArray) -> pa.StringArray:
    """A column of texts with words that mix scripts in one (`kernels.characters`)."""
    return string_array(*unmix(*string_buffers(column)), like=column)


class _Records:
    """Texts that are scanned, and what follows from it."""

    def __init__(self, texts: pa.LargeStringArray, about: Mapping[str, pa.Array]) -> None:
        self._texts = texts
        self._about = about
        normal = normal_texts(*string_buffers(texts))
        text, ends = unmix(normal.text, normal.ends)
        self._normal = normal._replace(text=text, ends=ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return self._normal.lengths

    def column(self, name: str) -> pa.Array:
        constants = {"again": "", "source": "memory", "charset": "UTF-8"}
        if name in constants:
            return pa.repeat(constants[name], len(self._texts))
        return self._makers[name]()

    @cached_property
    def _makers(self) -> dict[str, Callable[[], pa.Array]]:
        return {
            "text": lambda: string_array(self._normal.text, self._normal.ends),
            "kinds": lambda: self._zero_by_line(np.uint8),
            "regions": lambda: self._zero_by_line(np.uint8),
            "link_shares": lambda: self._zero_by_line(np.float32),
            "tables": self._none,
            "images": self._none,
            "anchors": self._none,
            "sentences": lambda: pa.array(count_sentences(self._normal.text, self._normal.ends)),
            "script": lambda: pa.array(self._scripts, pa.string()),
            "language": lambda: pa.array(map(language_of_script, self._scripts), pa.string()),
            "size": lambda: pc.binary_length(self._texts),
            "digest": self._digests,
            "host": lambda: self._of_urls(host),
            "canonical_url": lambda: self._of_urls(canonicalise),
        }

    def _zero_by_line(self, kind: type[np.generic]) -> pa.ListArray:
        """Lines of text in no region, of no kind and without links (`BlockKind.TEXT` is 0)."""
        return list_array(np.zeros(self._normal.lines[-1], kind), self._normal.lines)

    def _none(self) -> pa.Array:
        return pa.array(np.zeros(len(self._texts), np.int32))

    @cached_property
    def _scripts(self) -> list[str]:
        counts = count_scripts(self._normal.text, self._normal.ends)
        return [main_script(row) for row in counts.tolist()]

    def _digests(self) -> pa.Array:
        data, offsets = string_buffers(self._texts)
        content, digest = memoryview(data), xxhash.xxh3_64_intdigest  # type: ignore[arg-type]
        digests = [digest(content[start:end]) for start, end in pairwise(offsets.tolist())]
        return number_array(np.array(digests, np.uint64))

    def _of_urls(self, step: Callable[[str], str]) -> pa.Array:
        """A step over each different URL; most texts have none."""
        offsets = string_buffers(self._about["url"])[1]
        if offsets[0] == offsets[-1]:
            return pa.repeat(step(""), len(self._texts))
        encoded = self._about["url"].dictionary_encode()
        made = pa.array([step(url) for url in encoded.dictionary.to_pylist()], pa.string())
        return made.take(encoded.indices)
