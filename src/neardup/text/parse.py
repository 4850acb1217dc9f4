"""From raw pages to page records: `schemas.PAGES`, one row a page, in order.

1. `charset.to_utf8` makes UTF-8 of the bytes.
2. `kernels.scan` writes text, blocks and counts of the whole batch into its arrays. A page that
   shows nothing of the article in its JSON-LD is given that text (`metadata.article_body`).
3. `kernels.look_alikes` writes words that mix scripts in one.
4. `metadata` reads the few places where the page speaks about itself.
5. Sentences and scripts are counted over the text of the batch at once.

No bytes are so bad that a page is refused. Of two sources of a fact the record's own wins: its
title, its time (for a WARC that is the capture), its URL. The page's word fills what it leaves
open.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from neardup.kernels import scan_meta
from neardup.kernels.characters import count_scripts
from neardup.kernels.look_alikes import unmix
from neardup.kernels.scan import Scan, Scanner
from neardup.kernels.sentences import count_sentences
from neardup.model import Block, BlockKind, Page, Region
from neardup.pages.urls import host
from neardup.schemas import PAGES
from neardup.text import metadata
from neardup.text.charset import to_utf8
from neardup.text.metadata import main_script
from neardup.text.plain import unmixed


def parse(raw: pa.RecordBatch, *, alt_texts: bool = False) -> pa.RecordBatch:
    """The records of raw pages (`schemas.RAW`). Their text must stay below 2 GiB in all."""
    bodies = raw["body"].to_pylist()
    decoded = list(map(to_utf8, bodies, raw["charset"].to_pylist()))
    scanner = Scanner(len(bodies), sum(len(data) for data, _ in decoded))
    for (data, _), is_html in zip(decoded, raw["is_html"].to_pylist(), strict=True):
        scanner.scan(np.frombuffer(data, np.uint8), html=is_html, alt_texts=alt_texts)
        article = metadata.article_body(data, scanner.places[scanner.page - 1])
        if article and not metadata.shows(scanner.last_text(), article):
            scanner.rescan(np.frombuffer(article, np.uint8), html=b"<" in article)
    scan = scanner.result()
    text, text_ends = unmix(scan.text, scan.text_ends)
    scan = scan._replace(text=text, text_ends=text_ends)
    scripts = [main_script(row) for row in count_scripts(scan.text, scan.text_ends).tolist()]
    stated = [
        _stated(data, *of_page)
        for (data, _), *of_page in zip(
            decoded,
            scan.places.tolist(),
            scripts,
            raw["url"].to_pylist(),
            raw["title"].to_pylist(),
            raw["time"].is_null().to_pylist(),
            strict=True,
        )
    ]
    url, canonical_url, hosts, title, time, language = (
        zip(*stated, strict=True) if stated else [()] * 6
    )
    blocks = pa.array(scan.block_ends, pa.int32())
    columns = {
        "id": raw["id"],
        "again": raw["again"],
        "url": pa.array(url, pa.string()),
        "canonical_url": pa.array(canonical_url, pa.string()),
        "host": pa.array(hosts, pa.string()),
        "title": unmixed(pa.array(title, pa.string())),
        "time": pc.coalesce(raw["time"], pa.array(time, raw["time"].type)),
        "language": pa.array(language, pa.string()),
        "script": pa.array(scripts, pa.string()),
        "charset": pa.array([charset for _, charset in decoded], pa.string()),
        "text": _text(scan),
        "kinds": pa.ListArray.from_arrays(blocks, pa.array(scan.kinds)),
        "regions": pa.ListArray.from_arrays(blocks, pa.array(scan.regions)),
        "link_shares": pa.ListArray.from_arrays(blocks, pa.array(scan.link_shares)),
        "tables": pa.array(scan.counts[:, 0], pa.int32()),
        "images": pa.array(scan.counts[:, 1], pa.int32()),
        "anchors": pa.array(scan.counts[:, 2], pa.int32()),
        "sentences": pa.array(count_sentences(scan.text, scan.text_ends)),
        "size": pc.binary_length(raw["body"]),
        "digest": pa.array([xxhash.xxh3_64_intdigest(data) for data, _ in decoded], pa.uint64()),
        "source": raw["source"],
        "record": raw["record"],
    }
    return pa.record_batch(columns, schema=PAGES)


def _stated(
    data: bytes, places: metadata.Places, script: str, url: str, title: str, is_undated: bool
) -> tuple[str, str, str, str, datetime | None, str]:
    """URL, canonical URL, host, title, time (where the record has none) and language of a page."""
    url, canonical_url = metadata.address(data, places, url)
    return (
        url,
        canonical_url,
        host(url),
        title or metadata.stated(data, places, scan_meta.TITLE),
        metadata.published(data, places) if is_undated else None,
        metadata.language(data, places, script),
    )


def _text(scan: Scan) -> pa.Array:
    offsets = scan.text_ends.astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(scan.text)]
    return pa.StringArray.from_buffers(len(offsets) - 1, buffers[1], buffers[2])


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
