"""The Arrow schema of every seam: what flows from one folder to the next."""

from __future__ import annotations

import pyarrow as pa

FORMAT = 6  # of what is remembered of a page; goes up when features or hashes change

TIME = pa.timestamp("us", tz="UTC")

# pages/ -> text/. One row per page, as its reader found it; `model.RawPage` describes the fields.
RAW = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("again", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("time", TIME),
        pa.field("body", pa.large_binary(), nullable=False),
        pa.field("is_html", pa.bool_(), nullable=False),
        pa.field("charset", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("record", pa.int64(), nullable=False),
    ]
)

# text/ -> methods/. One row per page. `text` has one line per block; the lists run along its lines.
PAGES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("again", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("canonical_url", pa.string(), nullable=False),
        pa.field("host", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("time", TIME),
        pa.field("language", pa.string(), nullable=False),
        pa.field("script", pa.string(), nullable=False),
        pa.field("charset", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field("kinds", pa.list_(pa.uint8()), nullable=False),
        pa.field("regions", pa.list_(pa.uint8()), nullable=False),
        pa.field("link_shares", pa.list_(pa.float32()), nullable=False),
        pa.field("tables", pa.int32(), nullable=False),
        pa.field("images", pa.int32(), nullable=False),
        pa.field("anchors", pa.int32(), nullable=False),
        pa.field("sentences", pa.int32(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("digest", pa.uint64(), nullable=False),  # xxh3 of the decoded bytes
        pa.field("source", pa.string(), nullable=False),
        pa.field("record", pa.int64(), nullable=False),
    ]
)

# What a page says it is about, in a meta element. The report compares it; no method reads it and no
# store keeps it, so it is made only on request.
DESCRIPTION = pa.field("description", pa.string(), nullable=False)

# methods/ -> candidates/. A page (its row number) may have any number of keys.
KEYS = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),
        pa.field("key", pa.uint64(), nullable=False),
    ]
)

# candidates/ -> methods/. Row numbers, left < right.
PAIRS = pa.schema(
    [
        pa.field("left", pa.int64(), nullable=False),
        pa.field("right", pa.int64(), nullable=False),
    ]
)

# methods/ -> clusters/. One row a judged pair; `evidence` is a JSON object with "why" in words.
VERDICTS = pa.schema(
    [
        pa.field("relation", pa.string(), nullable=False),
        pa.field("similarity", pa.float64()),
        pa.field("evidence", pa.string(), nullable=False),
    ]
)

# methods/ -> clusters/. The same without the evidence, for pairs that nobody will read about.
RELATED = pa.schema([VERDICTS.field("relation"), VERDICTS.field("similarity")])

# methods/ -> engines/, the survey step. Equal keys are added up over all pages.
COUNTS = pa.schema(
    [
        pa.field("key", pa.uint64(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
    ]
)

# methods/ -> clusters/, from a method that decides in order. `match` is the id of an earlier page,
# or null for a page that starts a cluster of its own; the rest is the verdict on the two.
ASSIGNED = pa.schema([pa.field("match", pa.string()), *VERDICTS])
