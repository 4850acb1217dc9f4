"""From raw pages to page records: `schemas.PAGES`, one row a page, in order.

1. `charset.to_utf8` makes UTF-8 of the bytes.
2. `kernels.scan` writes text, blocks and counts of the whole batch into its arrays.
3. `metadata` reads the few places where the page speaks about itself.
4. Sentences and scripts are counted over the text of the batch at once.

No bytes are so bad that a page is refused. Of two sources of a fact the record's own wins: its
title, its time (for a WARC that is the capture), its URL. The page's word fills what it leaves
open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from neardup.kernels import scan_meta
from neardup.kernels.scan import Scan, Scanner
from neardup.kernels.sentences import count_sentences
from neardup.kernels.utf8 import count_scripts
from neardup.model import Block, BlockKind, Page, RawPage, Region
from neardup.pages.urls import host
from neardup.schemas import PAGES
from neardup.text import metadata
from neardup.text.charset import to_utf8
from neardup.text.metadata import main_script


def parse(raws: Sequence[RawPage], *, alt_texts: bool = False) -> pa.RecordBatch:
    """The pages' records. The text of a batch must stay below 2 GiB, as Arrow strings do."""
    decoded = [to_utf8(raw.body, raw.charset) for raw in raws]
    scanner = Scanner(len(raws), sum(len(data) for data, _ in decoded))
    for raw, (data, _) in zip(raws, decoded, strict=True):
        scanner.scan(np.frombuffer(data, np.uint8), html=raw.is_html, alt_texts=alt_texts)
    scan = scanner.result()
    scripts = [main_script(row) for row in count_scripts(scan.text, scan.text_ends).tolist()]
    stated = [
        _stated(raw, data, places, script)
        for raw, (data, _), places, script in zip(
            raws, decoded, scan.places.tolist(), scripts, strict=True
        )
    ]
    url, canonical_url, hosts, title, time, language = (
        zip(*stated, strict=True) if raws else [()] * 6
    )
    blocks = pa.array(scan.block_ends, pa.int32())
    columns = {
        "id": _strings([raw.id for raw in raws]),
        "again": _strings([raw.again for raw in raws]),
        "url": _strings(url),
        "canonical_url": _strings(canonical_url),
        "host": _strings(hosts),
        "title": _strings(title),
        "time": pa.array(time, pa.timestamp("us", tz="UTC")),
        "language": _strings(language),
        "script": _strings(scripts),
        "charset": _strings([charset for _, charset in decoded]),
        "text": _text(scan),
        "kinds": pa.ListArray.from_arrays(blocks, pa.array(scan.kinds)),
        "regions": pa.ListArray.from_arrays(blocks, pa.array(scan.regions)),
        "link_shares": pa.ListArray.from_arrays(blocks, pa.array(scan.link_shares)),
        "tables": pa.array(scan.counts[:, 0], pa.int32()),
        "images": pa.array(scan.counts[:, 1], pa.int32()),
        "anchors": pa.array(scan.counts[:, 2], pa.int32()),
        "sentences": pa.array(count_sentences(scan.text, scan.text_ends)),
        "size": pa.array([len(raw.body) for raw in raws], pa.int64()),
        "digest": pa.array([xxhash.xxh3_64_intdigest(raw.body) for raw in raws], pa.uint64()),
        "source": _strings([raw.source.path for raw in raws]),
        "record": pa.array([raw.source.record for raw in raws], pa.int64()),
    }
    return pa.record_batch(columns, schema=PAGES)


def _stated(
    raw: RawPage, data: bytes, places: metadata.Places, script: str
) -> tuple[str, str, str, str, datetime | None, str]:
    """URL, canonical URL, host, title, time and language of a page."""
    url, canonical_url = metadata.address(data, places, raw.url)
    return (
        url,
        canonical_url,
        host(url),
        raw.title or metadata.stated(data, places, scan_meta.TITLE),
        raw.time or metadata.published(data, places),
        metadata.language(data, places, script),
    )


def _text(scan: Scan) -> pa.Array:
    offsets = scan.text_ends.astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(scan.text)]
    return pa.StringArray.from_buffers(len(offsets) - 1, buffers[1], buffers[2])


def _strings(values: Sequence[str]) -> pa.Array:
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:  # a lone surrogate, from JSON
        return pa.array(
            [value.encode("utf-8", "replace").decode() for value in values], pa.string()
        )


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
