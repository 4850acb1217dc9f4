"""Pages of files, WARC and ARC archives, JSON lines and Parquet, on this machine or remote.

`read` hands over Arrow batches, for the pipeline; `read_records` one object per record, for people
and for writing pages back. A record that is not a page is a `Skip` with a reason. Records that
share an id are all handed over; `rules.identity` decides which one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from neardup.errors import InputError, UsageError
from neardup.model import Page, RawPage, Skip, SkipReason
from neardup.pages.limits import Limits

if TYPE_CHECKING:
    from neardup.pages.raw import RawBatch
    from neardup.pages.readers import Range

__all__ = ["Limits", "batches", "check_page", "read", "read_range", "read_records", "split"]

RANGE_BYTES = 128_000_000

Item = TypeVar("Item", bound=RawPage | Page)


def read(
    inputs: Sequence[str], limits: Limits | None = None, *, max_pages: int | None = None
) -> Iterator[RawBatch]:
    """The pages of `inputs` as Arrow batches, bounded in bytes and rows; see `read_records`."""
    from neardup.pages.inputs import find_files  # noqa: PLC0415 - keeps `pages.urls` light
    from neardup.pages.raw import readable, sliced  # noqa: PLC0415 - pyarrow is heavy
    from neardup.pages.readers import Reading  # noqa: PLC0415

    reading = Reading(limits or Limits(), keep_original=False)
    sources = reading.sources(find_files(inputs))
    batches = (block() for source in sources for block in source)
    last = (block() for block in reading.last_source())
    return sliced(readable(chain(batches, last)), max_pages)


def split(inputs: Sequence[str], target_bytes: int = RANGE_BYTES) -> list[Range]:
    """The files of `inputs` in ranges that can be read side by side (`read_range`), in order.

    Large files of plain JSON lines and of Parquet are cut into ranges of about `target_bytes`; any
    other file is one range.
    """
    from neardup.pages.inputs import find_files  # noqa: PLC0415 - keeps `pages.urls` light
    from neardup.pages.readers import split_file  # noqa: PLC0415

    return [part for file in find_files(inputs) for part in split_file(file, target_bytes)]


def read_range(part: Range, limits: Limits | None = None) -> Iterator[RawBatch]:
    """The pages of a range as Arrow batches; their records have the numbers of the whole file.

    Revisits of archives, which repeat a page that may be in another file, are not resolved.
    """
    from neardup.pages.readers import read_range as blocks_of  # noqa: PLC0415

    return (block() for block in blocks_of(part, limits or Limits()))


def read_records(
    inputs: Sequence[str], limits: Limits | None = None, *, keep_original: bool = False
) -> Iterator[RawPage | Skip]:
    """The records of files, folders and globs, local or remote; `-` reads JSON lines from stdin.

    The same inputs give the same records in the same order, however the inputs are ordered. An
    input that matches nothing raises `InputError` at once; if the only file cannot be read, the
    first step of the iterator does.
    """
    from neardup.pages.inputs import find_files  # noqa: PLC0415 - keeps `pages.urls` light
    from neardup.pages.readers import Reading  # noqa: PLC0415

    files = find_files(inputs)
    reading = Reading(limits or Limits(), keep_original=keep_original)
    return _readable(reading.read(files))


def _readable(items: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """The items; an error if the only one is a file that cannot be read."""
    first, second = next(items, None), next(items, None)
    if second is None and isinstance(first, Skip) and first.reason is SkipReason.UNREADABLE:
        raise InputError(f"{first.source.path}: {first.detail}")
    for item in (first, second):
        if item is not None:
            yield item
    yield from items


def check_page(page: object) -> None:
    """Refuse what is not a page, and say how to make one."""
    if not isinstance(page, RawPage | Page):
        raise UsageError(
            f"expected a page, not {type(page).__name__}: make one with "
            "neardup.html_page(html, url=...) or neardup.text_page(text, id=...)"
        )


def batches(pages: Iterable[Item], max_pages: int, max_bytes: int) -> Iterator[list[Item]]:
    """Consecutive pages in lists of at most so many, and so many bytes of content.

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
