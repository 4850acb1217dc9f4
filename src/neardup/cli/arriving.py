"""Pages on their way to the index, and what was skipped on the way."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from queue import Empty, Queue
from threading import Thread

import xxhash

from neardup.model import RawPage, Skip
from neardup.pages import Limits, read
from neardup.pages.jsonl import read_lines
from neardup.pages.unpack import chunks

STANDARD_INPUT = 0  # its file descriptor


class Skips:
    """Records that were not taken: counted, and the first of each reason told at once."""

    def __init__(self) -> None:
        self.by_reason: Counter[str] = Counter()

    def sift(self, records: Iterable[RawPage | Skip]) -> Iterator[RawPage]:
        """The pages among the records."""
        for record in records:
            if isinstance(record, RawPage):
                yield record
            else:
                self._note(record)

    def _note(self, skip: Skip) -> None:
        if skip.reason not in self.by_reason:
            where = f"{skip.source.path}, record {skip.source.record}"
            print(
                f"neardup: skipped {where}: {skip.reason}: {skip.detail} "
                "(more of this kind are only counted)",
                file=sys.stderr,
                flush=True,
            )
        self.by_reason[skip.reason] += 1

    def in_words(self) -> str:
        """How many, by reason."""
        told = ", ".join(f"{count:,} {reason}" for reason, count in self.by_reason.most_common())
        return f"{self.by_reason.total():,} records skipped: {told}"


def pages_of(inputs: Sequence[str], limits: Limits, skips: Skips) -> Iterator[RawPage]:
    """The pages of all inputs; those on standard input come last, each when it is there."""
    files = [each for each in inputs if each != "-"]
    records = read(files, limits) if files else iter(())
    if "-" in inputs:
        records = chain(records, _piped(limits))
    return _told_apart(skips.sift(records))


def _piped(limits: Limits) -> Iterator[RawPage | Skip]:
    """JSON lines of standard input; unbuffered, so that no line waits for the next."""
    with open(STANDARD_INPUT, "rb", buffering=0, closefd=False) as stream:
        yield from read_lines("-", chunks(stream), limits)


def _told_apart(pages: Iterable[RawPage]) -> Iterator[RawPage]:
    """Pages of one run under ids of their own, where the reader knows another id for them.

    Two folders may hold the same relative path, and an archive a URL twice. A page without
    another id is the same page again.
    """
    seen: set[int] = set()
    for page in pages:
        if not page.again:
            yield page
            continue
        mark = xxhash.xxh3_64_intdigest(page.id.encode("utf-8", "replace"))
        yield replace(page, id=page.again) if mark in seen else page
        seen.add(mark)


def as_they_come(pages: Iterable[RawPage], most: int) -> Iterator[list[RawPage]]:
    """What has arrived by now: one page where pages are slow to come, up to `most` if quick."""
    arrived: Queue[RawPage | Exception | None] = Queue(most)
    Thread(target=_fetch, args=(pages, arrived), daemon=True).start()
    while True:
        batch = [arrived.get(), *_at_hand(arrived, most - 1)]
        found = [page for page in batch if isinstance(page, RawPage)]
        if found:
            yield found
        if isinstance(batch[-1], Exception):
            raise batch[-1]
        if batch[-1] is None:
            return


def _fetch(pages: Iterable[RawPage], arrived: Queue[RawPage | Exception | None]) -> None:
    try:
        for page in pages:
            arrived.put(page)
    except Exception as error:  # told to the one who waits, not to the thread
        arrived.put(error)
    else:
        arrived.put(None)


def _at_hand(
    arrived: Queue[RawPage | Exception | None], most: int
) -> Iterator[RawPage | Exception | None]:
    for _ in range(most):
        try:
            yield arrived.get_nowait()
        except Empty:
            return
