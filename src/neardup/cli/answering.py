"""Asking the index about pages, in the way that suits where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from neardup.cli.arriving import as_they_come
from neardup.index import Answer, Index
from neardup.model import RawPage

AT_ONCE = 64  # pages of a pipe that are added together, where so many wait


def answers_to(
    pages: Iterable[RawPage], index: Index, *, add: bool, piped: bool, workers: int | None
) -> Iterator[Answer]:
    """What the index says of each page, in order, as soon as it is known."""
    if not add:
        return map(index.query, pages)
    if piped:  # whoever writes to the pipe may wait for the answer
        return chain.from_iterable(map(index.add_many, as_they_come(pages, AT_ONCE)))
    return index.stream(pages, workers=workers)
