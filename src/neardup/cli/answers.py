"""Asking the index about pages, in the way that suits where they come from.

The index's answers as they come: JSON lines for programs, lines for people.

Pages on their way to the index, and what was skipped on the way.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from queue import Empty, Queue
from threading import Thread
from typing import Any, TextIO

import xxhash
from rich.console import Console
from rich.text import Text

from neardup.cli.progress import ProgressLines, shown_progress
from neardup.errors import InterruptedRunError
from neardup.index import Answer, Index
from neardup.kernels.jit import when_compiling
from neardup.local.run import Progress
from neardup.model import RawPage, Relation, Skip
from neardup.pages import Limits, read
from neardup.pages.jsonl import read_lines
from neardup.pages.streams import chunks

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


PATIENCE = 1.0  # seconds before progress is shown
HEADINGS = f"{'is':<9} like  {'cluster':<7} page"
STYLES = {"new": "green", "undecided": "dim"}
WORDS = {
    Relation.CONTAINS: "contains",
    Relation.CONTAINED: "is contained in",
    Relation.OVERLAP: "overlaps with",
}


def show_answers(answers: Iterable[Answer], skips: Skips, out: TextIO, *, as_json: bool) -> int:
    """A line a page, and the counts at the end: of JSON lines on standard error.

    Gives how many pages there were. Ctrl-C ends it; what was answered is in the store.
    """
    counts: Counter[str] = Counter()
    show = _json_line if as_json else _line_for_people(out)
    if out.isatty() and not as_json:
        print(HEADINGS, file=out)
    interrupted = False
    with _progress(out) as advance:
        try:
            for answer in answers:
                print(show(answer), file=out, flush=True)
                counts.update(_kinds(answer))
                advance()
        except KeyboardInterrupt:
            interrupted = True
    if as_json:
        print(f"neardup: {_in_words(counts)}", file=sys.stderr)
    else:
        print(_in_words(counts), file=out, flush=True)
    if skips.by_reason:
        print(f"neardup: {skips.in_words()}", file=sys.stderr)
    if interrupted:
        raise InterruptedRunError("interrupted; the pages that were answered are in the store")
    return counts["pages"]


def _json_line(answer: Answer) -> str:
    return json.dumps(as_data(answer), ensure_ascii=False)


def _line_for_people(out: TextIO) -> Callable[[Answer], str]:
    """In colour where that is seen."""
    console = Console(file=out, highlight=False, soft_wrap=True)

    def show(answer: Answer) -> str:
        with console.capture() as written:
            console.print(_line(answer), end="")
        return written.get()

    return show


def as_data(answer: Answer) -> dict[str, Any]:
    """An answer as a JSON object."""
    return {
        "id": answer.id,
        "duplicate": answer.duplicate,
        "of": answer.of,
        "cluster": answer.cluster,
        "relation": answer.relation,
        "similarity": answer.similarity,
    }


@contextmanager
def _progress(out: TextIO) -> Iterator[Callable[[], None]]:
    """A function to call after each page. On a terminal the lines themselves are the progress."""
    if out.isatty():
        when_compiling(ProgressLines().compiling)
        yield lambda: None
    else:
        with shown_progress() as progress:
            yield _Late(progress).advance


class _Late:
    """Progress that shows itself only if the work takes a while."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._unshown = 0
        self._shows = False

    def advance(self) -> None:
        self._unshown += 1
        if not self._shows and time.monotonic() - self._started >= PATIENCE:
            self._shows = True
            self._progress.stage("check")
        if self._shows:
            self._progress.advance(self._unshown)
            self._unshown = 0


def _kinds(answer: Answer) -> list[str]:
    kinds = ["pages"]
    if answer.duplicate:
        kinds.append("duplicates")
    elif answer.relation is Relation.UNDECIDED:
        kinds.append("undecided")
    else:
        kinds.append("new")
    return [*kinds, "known"] if answer.known else kinds


def _in_words(counts: Counter[str]) -> str:
    told = f"{counts['pages']:,} pages: {counts['new']:,} new, {counts['duplicates']:,} duplicates"
    if counts["undecided"]:
        told += f", {counts['undecided']:,} with too little text to tell"
    if counts["known"]:
        told += f"; {counts['known']:,} of them the store had already"
    return told


def _line(answer: Answer) -> Text:
    word = str(answer.relation) if answer.duplicate else "new"
    if answer.relation is Relation.UNDECIDED:
        word = "undecided"
    similarity = "" if answer.similarity is None else f"{answer.similarity:.2f}"
    line = Text().append(f"{word:<9}", STYLES.get(word, "yellow"))
    line.append(f" {similarity:>4}  {answer.cluster or '-':<7} ", "dim")
    line.append(_plain(answer.id), "bold")
    if answer.of is not None:
        how = "of" if answer.duplicate else WORDS.get(answer.relation or Relation.OVERLAP, "near")
        line.append(f" {how} ", "dim").append(_plain(answer.of))
    return line


def _plain(text: str) -> str:
    """Ids come from pages: no control sequence of theirs reaches the terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


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
