"""The index's answers as they come: JSON lines for programs, lines for people."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from neardup.cli.arriving import Skips
from neardup.cli.progress import ProgressLines, shown_progress
from neardup.engines.progress import Progress
from neardup.errors import InterruptedRunError
from neardup.index import Answer
from neardup.kernels.jit import when_compiling
from neardup.model import Relation

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
