"""`neardup check` from inputs to printed answers: read pages, look them up, print one line each."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from queue import Queue
from threading import Thread
from typing import Any, TextIO

import xxhash
from rich.console import Console
from rich.text import Text

from neardup.cli.messages import say_compiling, shown_progress
from neardup.errors import InterruptedRunError
from neardup.index import Answer, Index
from neardup.index.writer import Writer
from neardup.local.run import Progress
from neardup.model import RawPage, Relation, Skip
from neardup.pages import Limits
from neardup.pages.jsonl import read_lines
from neardup.pages.readers import read_records
from neardup.pages.streams import chunks

STANDARD_INPUT = 0  # file descriptor
PIPED = 64  # pages read ahead from a pipe
PROGRESS_DELAY = 1.0  # seconds before progress is shown
HEADINGS = f"{'is':<9} like  {'cluster':<7} page"
STYLES = {"new": "green", "undecided": "dim"}
PHRASES = {
    Relation.CONTAINS: "contains",
    Relation.CONTAINED: "is contained in",
    Relation.OVERLAP: "overlaps with",
}


class Skips:
    """Counts skipped records by reason, and reports the first of each reason at once."""

    def __init__(self) -> None:
        self.by_reason: Counter[str] = Counter()

    def note(self, skip: Skip) -> None:
        if skip.reason not in self.by_reason:
            where = f"{skip.source.path}, record {skip.source.record}"
            print(
                f"neardup: skipped {where}: {skip.reason}: {skip.detail} "
                "(further records with this reason are only counted)",
                file=sys.stderr,
                flush=True,
            )
        self.by_reason[skip.reason] += 1

    def in_words(self) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in self.by_reason.most_common())
        return f"{self.by_reason.total():,} records skipped: {counts}"


def records_of(
    inputs: Sequence[str], limits: Limits, skips: Skips, *, keep_original: bool
) -> Iterator[RawPage | Skip]:
    """The pages of all inputs. Those on standard input come last, each as soon as it arrives.

    Skipped records are noted; those of standard input come in their place, because a program may
    wait for the answer to each of its lines.
    """
    files = [each for each in inputs if each != "-"]
    records = read_records(files, limits, keep_original=keep_original) if files else iter(())
    if "-" in inputs:
        records = chain(records, _piped(limits, keep_original))
    return _sifted(records, skips)


def _piped(limits: Limits, keep_original: bool) -> Iterator[RawPage | Skip]:
    """JSON lines from standard input, unbuffered, so that no line waits for the next."""
    with open(STANDARD_INPUT, "rb", buffering=0, closefd=False) as stream:
        yield from read_lines(
            "-", chunks(stream), limits, keep_original=keep_original, every_line=True
        )


def _sifted(records: Iterable[RawPage | Skip], skips: Skips) -> Iterator[RawPage | Skip]:
    """Note the skips; give a page its alternative id (`again`) if this run used its first one.

    Two folders may hold the same relative path, and an archive the same URL twice. A page
    without an alternative id is an update of the earlier page.
    """
    seen: set[int] = set()
    for record in records:
        if isinstance(record, Skip):
            skips.note(record)
            if record.source.path == "-":
                yield record
        elif not record.again:
            yield record
        else:
            digest = xxhash.xxh3_64_intdigest(record.id.encode("utf-8", "replace"))
            yield replace(record, id=record.again) if digest in seen else record
            seen.add(digest)


def answers_to(
    records: Iterable[RawPage | Skip], index: Index, *, add: bool, piped: bool, workers: int | None
) -> Generator[Answer | Skip]:
    """The index's answer to each page, in order, as soon as it is known."""
    if not add:
        yield from (each if isinstance(each, Skip) else index.query(each) for each in records)
    elif piped:  # the program may wait for an answer before it sends the next page
        yield from as_they_come(records, index)
    else:
        pages = (each for each in records if isinstance(each, RawPage))
        yield from index.stream(pages, workers=workers)


Answered = Future[list[Answer]] | Skip | Exception | None  # None: the end


def as_they_come(records: Iterable[RawPage | Skip], index: Index) -> Generator[Answer | Skip]:
    """Answers to pages that arrive at their own pace; those that wait are added together."""
    writer = Writer(index)
    arrived: Queue[Answered] = Queue(PIPED)
    Thread(target=_fetch, args=(records, writer, arrived), daemon=True).start()
    try:
        while (item := arrived.get()) is not None:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, Skip):
                yield item
            else:
                yield item.result()[0]
    finally:  # also after Ctrl-C: what is under way is finished, what waits is not
        while not arrived.empty():
            waiting = arrived.get_nowait()
            if isinstance(waiting, Future):
                waiting.cancel()
        writer.close()


def _fetch(records: Iterable[RawPage | Skip], writer: Writer, arrived: Queue[Answered]) -> None:
    try:
        for record in records:
            arrived.put(record if isinstance(record, Skip) else writer.add([record]))
    except Exception as error:  # raised again in the consuming thread
        arrived.put(error)
    else:
        arrived.put(None)


def show_answers(
    answers: Iterable[Answer | Skip], skips: Skips, out: TextIO, *, as_json: bool
) -> int:
    """Print one line per page, then the counts (on standard error if the lines are JSON).

    Returns the number of pages. Ctrl-C ends it early; pages already answered are in the store.
    """
    counts: Counter[str] = Counter()
    line_of = _json_line if as_json else _text_line(out)
    if out.isatty() and not as_json:
        print(HEADINGS, file=out)
    interrupted = False
    with _progress(out) as advance:
        try:
            for answer in answers:
                print(line_of(answer), file=out, flush=True)
                if isinstance(answer, Answer):
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
        raise InterruptedRunError("interrupted; every page answered so far is in the store")
    return counts["pages"]


def _json_line(answer: Answer | Skip) -> str:
    fields: dict[str, Any]
    if isinstance(answer, Skip):
        fields = {"line": answer.source.record + 1, "skipped": str(answer.reason)}
        fields["detail"] = answer.detail
    elif answer.refused:
        fields = {"skipped": "refused", "detail": answer.refused}
    else:
        fields = answer.as_data()
    return json.dumps({"id": answer.id, **fields}, ensure_ascii=False)


def _text_line(out: TextIO) -> Callable[[Answer | Skip], str]:
    """A function that formats an answer for people, in colour if `out` is a terminal."""
    console = Console(file=out, highlight=False, soft_wrap=True)

    def line_of(answer: Answer | Skip) -> str:
        with console.capture() as written:
            console.print(_styled(answer), end="")
        return written.get()

    return line_of


def _styled(answer: Answer | Skip) -> Text:
    if isinstance(answer, Skip):
        name = answer.id or f"line {answer.source.record + 1}"
        line = Text().append(f"{'skipped':<9}", "yellow").append(f" {'':>4}  {'-':<7} ", "dim")
        line.append(_printable(name), "bold")
        return line.append(f" {_printable(answer.detail or str(answer.reason))}", "dim")
    word = str(answer.relation) if answer.duplicate else "new"
    if answer.relation is Relation.UNDECIDED:
        word = "undecided"
    if answer.refused:
        word = "skipped"
    similarity = "" if answer.similarity is None else f"{answer.similarity:.2f}"
    line = Text().append(f"{word:<9}", STYLES.get(word, "yellow"))
    line.append(f" {similarity:>4}  {answer.cluster or '-':<7} ", "dim")
    line.append(_printable(answer.id), "bold")
    if answer.refused:
        line.append(f" {_printable(answer.refused)}", "dim")
    if answer.of is not None:
        phrase = PHRASES.get(answer.relation or Relation.OVERLAP, "near")
        line.append(f" {'of' if answer.duplicate else phrase} ", "dim")
        line.append(_printable(answer.of))
    if answer.replaced:
        line.append(" (replaces its earlier version)", "dim")
    return line


def _printable(text: str) -> str:
    """Ids come from pages: their control sequences must not reach the terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def _kinds(answer: Answer) -> list[str]:
    kinds = ["pages"]
    if answer.refused:
        return [*kinds, "refused"]
    if answer.duplicate:
        kinds.append("duplicates")
    elif answer.relation is Relation.UNDECIDED:
        kinds.append("undecided")
    else:
        kinds.append("new")
    return [*kinds, "known"] if answer.known else kinds


def _in_words(counts: Counter[str]) -> str:
    words = f"{counts['pages']:,} pages: {counts['new']:,} new, {counts['duplicates']:,} duplicates"
    if counts["undecided"]:
        words += f", {counts['undecided']:,} with too little text to decide"
    if counts["refused"]:
        words += f", {counts['refused']:,} skipped because the store refused them"
    if counts["known"]:
        words += f"; {counts['known']:,} of them were already in the store"
    return words


@contextmanager
def _progress(out: TextIO) -> Iterator[Callable[[], None]]:
    """A function to call after each page. On a terminal the lines themselves show progress."""
    if out.isatty():
        say_compiling()
        yield lambda: None
    else:
        with shown_progress() as progress:
            yield _Late(progress).advance


class _Late:
    """Progress that is shown only if the work takes longer than `PROGRESS_DELAY`."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._unshown = 0
        self._shows = False

    def advance(self) -> None:
        self._unshown += 1
        if not self._shows and time.monotonic() - self._started >= PROGRESS_DELAY:
            self._shows = True
            self._progress.stage("check")
        if self._shows:
            self._progress.advance(self._unshown)
            self._unshown = 0
