"""Pages of files, WARC and ARC archives, JSON lines and Parquet, on this machine or remote.

`readers.read` and `readers.read_records` read them. A record that is not a page is a `Skip` with a
reason. Records that share an id are all handed over; `rules.identity` decides which one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from neardup.errors import UsageError
from neardup.model import Page, RawPage
from neardup.pages.limits import Limits

__all__ = ["Limits", "batches", "check_page"]

Item = TypeVar("Item", bound=RawPage | Page)


def check_page(page: object) -> None:
    """Refuse what is not a page, and say how to make one."""
    if not isinstance(page, RawPage | Page):
        raise UsageError(
            f"expected a page, not {type(page).__name__}: make one with "
            "neardup.html_page(html, url=...) or neardup.text_page(text, id=...)"
        )


def batches(pages: Iterable[Item], max_pages: int, max_bytes: int) -> Iterator[list[Item]]:
    """Consecutive pages in lists of at most `max_pages`, and `max_bytes` bytes of content.

    A page larger than `max_bytes` makes a list of its own. A full list is handed over at once,
    without waiting for another page.
    """
    batch: list[Item] = []
    held = 0
    for page in pages:
        check_page(page)
        size = len(page.body) if isinstance(page, RawPage) else page.size
        if batch and held + size > max_bytes:
            yield batch
            batch, held = [], 0
        batch.append(page)
        held += size
        if len(batch) >= max_pages:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
