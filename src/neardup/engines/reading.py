"""Pages for people: read and parsed, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neardup.model import Page, RawPage
from neardup.pages import Limits, batches, read
from neardup.text.parse import pages_from, parse

PAGES_AT_ONCE = 64
BYTES_AT_ONCE = 4 * 1024**2


def read_pages(inputs: str | Sequence[str], limits: Limits | None = None) -> Iterator[Page]:
    """Every readable page of `inputs`, in reading order. Bad records are passed over."""
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    records = read(inputs, limits or Limits())
    raws = (record for record in records if isinstance(record, RawPage))
    for batch in batches(raws, PAGES_AT_ONCE, BYTES_AT_ONCE):
        yield from pages_from(parse(batch))
