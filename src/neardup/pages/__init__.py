"""Reading pages: files, archives, JSON lines, Parquet, near or far, as one stream.

`read` gives every record as a `RawPage` or as a `Skip` that says why not. Duplicate ids are all
given; which one counts is the engine's business. Nothing heavy is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from neardup.errors import InputError
from neardup.model import Page, RawPage, Skip, SkipReason
from neardup.pages.limits import Limits

__all__ = ["Limits", "batches", "read"]

Item = TypeVar("Item", bound=RawPage | Page | Skip)


def read(
    inputs: Sequence[str], limits: Limits | None = None, *, keep_original: bool = False
) -> Iterator[RawPage | Skip]:
    """The pages of files, folders and globs, local or remote; `-` is JSON lines on standard input.

    The same inputs give the same stream in whatever order they are named. An input that leads to
    nothing raises `InputError` here and now; when all there is cannot be read, on the first step.
    """
    from neardup.pages.inputs import find_files  # noqa: PLC0415 - keeps `pages.url` light
    from neardup.pages.readers import Reading  # noqa: PLC0415

    files = find_files(inputs)
    reading = Reading(limits or Limits(), keep_original=keep_original)
    return _readable(reading.read(files))


def _readable(items: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """The items, unless the only one is a file that cannot be read."""
    first, second = next(items, None), next(items, None)
    if second is None and isinstance(first, Skip) and first.reason is SkipReason.UNREADABLE:
        raise InputError(f"{first.source.path}: {first.detail}")
    for item in (first, second):
        if item is not None:
            yield item
    yield from items


def batches(items: Iterable[Item], max_pages: int, max_bytes: int) -> Iterator[list[Item]]:
    """Consecutive items in lists of at most so many, and so many bytes of content.

    A page larger than `max_bytes` makes a list of its own; a skip weighs nothing. A list that has
    its number is given at once, without waiting for another item.
    """
    batch: list[Item] = []
    held = 0
    for item in items:
        size = _weight(item)
        if batch and held + size > max_bytes:
            yield batch
            batch, held = [], 0
        batch.append(item)
        held += size
        if len(batch) >= max_pages:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _weight(item: RawPage | Page | Skip) -> int:
    """The bytes of a page; none for a skip."""
    if isinstance(item, RawPage):
        return len(item.body)
    return item.size if isinstance(item, Page) else 0
