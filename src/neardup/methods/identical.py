"""Identical pages are the same, and shells are undecided: rules that precede every method.

Two pages are identical if their decoded bytes are the same, or if they have the same title and the
same text of at least `ENOUGH` bytes, whatever their hosts and URLs. A page without text is
identical to no other.

Shells are pages of one host with the same text, because their own text did not arrive: a consent
wall, a request to run scripts. Their titles differ and are not in the text, or there is too little
text for a page. Two shells are undecided, even if their bytes are the same.

The columns that the rules need are stored with the features of a page, so they apply in a run, in a
store, in a result that a later run starts from, and on Spark. Instead of texts they hold digests of
128 bits. docs/decisions/0014-identical-pages.md says why that is enough.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from neardup.arrays import (
    FeatureRows,
    Hashes,
    Mask,
    Numbers,
    addresses_of,
    number_array,
    sizes_of,
    string_buffers,
)
from neardup.kernels import identity
from neardup.kernels.identity import CONTENT, NEITHER, SHELLS
from neardup.kernels.shingles import mix_all
from neardup.kernels.titles import titles_in_texts
from neardup.model import Relation
from neardup.schemas import PAIRS, VERDICTS
from neardup.text.sites import host_keys_of

SHELL_REASON = "the host shows the same text on other pages: shells whose own text is missing"
MARKUP = 16  # bytes more than the text has: a page, not a plain text
ENOUGH = 90  # bytes of text: 15 words of English, 30 Han characters; own-text asks for as much
NO_TITLE = np.uint64(xxhash.xxh3_64_intdigest(b""))
NO_TITLES = np.empty(0, np.uint8), np.zeros(1, np.int64)
READS = ("title", "text", "digest", "host", "size")  # of `schemas.PAGES`
COLUMNS = [
    pa.field("text_high", pa.uint64()),  # both 0 for a page without text
    pa.field("text_low", pa.uint64()),
    pa.field("bytes_key", pa.uint64()),
    pa.field("content_key", pa.uint64()),  # of the title; of the bytes, if the text is too short
    pa.field("shell_key", pa.uint64()),  # of the host of a page that may be a shell; 0 for others
]
NAMES = tuple(field.name for field in COLUMNS)
_VERDICTS = pa.record_batch(  # on BYTES, CONTENT and SHELLS
    [
        [str(Relation.SAME), str(Relation.SAME), str(Relation.UNDECIDED)],
        [1.0, 1.0, None],
        [
            json.dumps({"identical": "bytes", "why": "the pages are the same, byte for byte"}),
            json.dumps({"identical": "text", "why": "the titles and the texts are the same"}),
            json.dumps({"shell": True, "why": SHELL_REASON}),
        ],
    ],
    schema=VERDICTS,
)


def identity_columns(pages: pa.RecordBatch) -> list[pa.Array]:
    """`COLUMNS` of pages as they were parsed; of plain texts the column `text` is enough."""
    text, offsets = string_buffers(pages["text"])
    names = pages.schema.names
    titles = string_buffers(pages["title"]) if "title" in names else NO_TITLES
    content, digest = memoryview(text), xxhash.xxh3_128_digest  # type: ignore[arg-type]
    digests = b"".join([digest(content[start:end]) for start, end in pairwise(offsets.tolist())])
    sizes = sizes_of(offsets)
    halves = np.frombuffer(digests, np.uint64).reshape(-1, 2) * (sizes > 0)[:, None]
    high, low = halves.T.copy()
    bytes_key = pages["digest"].to_numpy() if "digest" in names else low
    title_key = _title_keys(*titles)
    content_key = np.where(sizes >= ENOUGH, title_key, bytes_key)
    shell_key = np.zeros(sizes.size, np.uint64)
    if "host" in names:
        # It does not show its title, or has markup and little text.
        little = (sizes < ENOUGH) & (pages["size"].to_numpy() > sizes + MARKUP)
        may_be_shell = ~titles_in_texts(*titles, text, offsets) | little
        if may_be_shell.any():
            shell_key = np.where(may_be_shell, host_keys_of(pages["host"]), shell_key)
    return [number_array(each) for each in (high, low, bytes_key, content_key, shell_key)]


def _title_keys(data: NDArray[np.uint8], offsets: Numbers) -> Hashes | np.uint64:
    """A digest of each title, or one for all where there are none, as of plain texts."""
    if offsets[0] == offsets[-1]:
        return NO_TITLE
    content, digest = memoryview(data), xxhash.xxh3_64_intdigest  # type: ignore[arg-type]
    keys = [digest(content[start:end]) for start, end in pairwise(offsets.tolist())]
    return np.array(keys, np.uint64)


def identity_keys(rows: pa.RecordBatch) -> tuple[Numbers, Hashes]:
    """Keys that identical pages share, each after its row.

    Each page has two: pairs that share a single key may be left out as chance.
    """
    high, low = rows["text_high"].to_numpy(), rows["text_low"].to_numpy()
    [with_text] = (high | low).nonzero()
    keys = np.concatenate([high[with_text], low[with_text]])
    return np.concatenate([with_text, with_text]), keys


def content_keys(rows: pa.RecordBatch) -> tuple[Hashes, Hashes]:
    """Two numbers for each row; rows that agree in one of them are identical. 0 without text."""
    high, low, of_bytes, of_content, shell = (rows[field.name].to_numpy() for field in COLUMNS)
    text = mix_all(high) ^ low
    with_text = ((high | low) != 0) & ~_is_little(of_bytes, of_content, shell)
    by_bytes, by_content = mix_all(of_bytes ^ text), mix_all(mix_all(of_content) ^ text)
    return np.where(with_text, by_bytes, 0), np.where(with_text, by_content, 0)


def identity_groups(rows: pa.RecordBatch) -> Numbers:
    """For each row, the first row that is identical to it, directly or through others; mostly the
    row itself."""
    groups = np.arange(rows.num_rows)
    ways = [np.unique(keys, return_inverse=True) for keys in content_keys(rows)]
    while True:
        before = groups
        for keys, place in ways:
            smallest = np.full(keys.size, rows.num_rows)
            np.minimum.at(smallest, place, groups)
            groups = np.where(keys[place] != 0, smallest[place], groups)
        if (groups == before).all():
            return groups


def identity_pairs(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Each row that is identical to earlier ones, with the first of them (`schemas.PAIRS`)."""
    groups = identity_groups(rows)
    copies = np.flatnonzero(groups != np.arange(groups.size))
    return pa.record_batch([groups[copies], copies], schema=PAIRS)


def identical_in(rows: FeatureRows, left: Numbers, right: Numbers) -> NDArray[np.int8]:
    """In what the two pages of each pair are identical."""
    return identity.identical_kinds(rows.known(_addresses), *rows.places(left), *rows.places(right))


def _addresses(batches: Sequence[pa.RecordBatch]) -> Hashes:
    return addresses_of(identity.COLUMNS, batches)


def _is_little(bytes_key: Hashes, content_key: Hashes, shell_key: Hashes) -> Mask:
    """Which pages that may be shells have too little text to be a page."""
    little: Mask = (shell_key != 0) & (bytes_key == content_key)
    return little


def shells(rows: pa.RecordBatch) -> Mask:
    """Which of all pages of a run are shells: another page of the host has the same text, and the
    titles differ or there is too little text."""
    columns = [rows[field.name].to_numpy() for field in COLUMNS]
    high, low, *_, shell = columns
    suspects = np.flatnonzero((shell != 0) & ((high | low) != 0))
    are_shells = np.zeros(shell.size, bool)
    high, low, of_bytes, of_content, shell = (column[suspects] for column in columns)  # few
    text = mix_all(mix_all(high) ^ low) ^ shell
    _, group = np.unique(text, return_inverse=True)
    _, titled = np.unique(mix_all(text) ^ of_content, return_inverse=True)
    pages, with_title = np.bincount(group)[group], np.bincount(titled)[titled]
    is_little = _is_little(of_bytes, of_content, shell)
    are_shells[suspects] = np.where(is_little, pages > 1, pages > with_title)
    return are_shells


def verdicts_on(kinds: NDArray[np.int8]) -> pa.RecordBatch:
    """The verdicts (`schemas.VERDICTS`) on identical pairs; NEITHER: identical through a third
    page."""
    return _VERDICTS.take(pa.array(np.where(kinds == NEITHER, CONTENT, kinds) - 1))


def with_identical(judged: pa.RecordBatch, kinds: NDArray[np.int8]) -> pa.RecordBatch:
    """The verdicts on all pairs; `judged` has those on pairs that are neither identical nor
    shells."""
    by_rule = _VERDICTS.select(judged.schema.names)
    rule_row = np.where(kinds == SHELLS, by_rule.num_rows, kinds).astype(np.int64) - 1
    judged_row = np.cumsum(kinds == NEITHER) - 1
    rows = np.where(kinds == NEITHER, judged_row, judged.num_rows + rule_row)
    return pa.concat_batches([judged, by_rule]).take(pa.array(rows))
