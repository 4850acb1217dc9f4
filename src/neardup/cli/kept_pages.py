"""`neardup check --write-kept`: the pages that are not duplicates, in a file of their own.

With revisits nothing is left out: a page whose payload is in a record of this file, or of that of
an earlier run, is written as a WARC `revisit` record, and every other page as it is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from hashlib import sha256
from pathlib import Path

from neardup.errors import UsageError
from neardup.index import Answer, Index
from neardup.local.result import check_kept
from neardup.model import RawPage, Skip
from neardup.pages.warc import IDENTICAL, NEAR, Reference, compose_revisit, payload_of, reference_to
from neardup.pages.writers import PageWriter, WarcWriter, warc_record, writer_for
from neardup.stores.session import Session
from neardup.text.charset import to_utf8

PAYLOADS, PAGES = "warc payload", "warc page"  # in the state of the store: what was written whole
AT_ONCE = 1_000  # references stored per transaction


@contextmanager
def kept_pages(
    path: Path, inputs: Sequence[str], index: Index, *, revisit: bool, near: bool, force: bool
) -> Iterator[KeptPages]:
    """Takes pages with their answers; the file is there, whole, when all of them were taken."""
    check_kept(path, inputs, force=force)
    if (revisit or near) and not any(each == ".warc" for each in path.suffixes[-2:]):
        raise UsageError(f"{path}: revisit records need a WARC file, such as new.warc.gz")
    with writer_for(path) as writer:
        kept = KeptPages(writer, index, revisit=revisit or near, near=near)
        yield kept
    kept.remember()  # only now: a reference must not point into a file that was never written


class KeptPages:
    """Holds pages until their answers come, and writes those that are kept."""

    def __init__(self, writer: PageWriter, index: Index, *, revisit: bool, near: bool) -> None:
        self._writer = writer
        self._index = index
        self._revisit = revisit
        self._near = near
        self._waiting: deque[RawPage] = deque()
        self._written: dict[tuple[str, str], Reference] = {}  # whole, by map and key

    def note(self, records: Iterable[RawPage | Skip]) -> Iterator[RawPage | Skip]:
        """The records, whose pages are held until their answers come."""
        for record in records:
            if isinstance(record, RawPage):
                self._waiting.append(record)
            yield record

    def follow(self, answers: Generator[Answer | Skip]) -> Generator[Answer | Skip]:
        """The answers, each after its page is written."""
        for answer in answers:
            if isinstance(answer, Answer):
                self._take(self._waiting.popleft(), answer)
            yield answer

    def _take(self, page: RawPage, answer: Answer) -> None:
        if not self._revisit:
            if not answer.duplicate:
                text = to_utf8(page.body, page.charset)[0].decode()
                self._writer.write(page, text)
            return
        assert isinstance(self._writer, WarcWriter)
        record = warc_record(page)
        digest = sha256(payload_of(record)[1]).hexdigest()
        same = self._known(PAYLOADS, digest)
        other = self._known(PAGES, answer.of) if self._near and answer.duplicate else None
        if same is not None:
            self._written[PAGES, page.id] = same
            self._writer.write_record(compose_revisit(record, same, IDENTICAL))
        elif other is not None:
            how = {
                "WARC-Neardup-Relation": str(answer.relation),
                "WARC-Neardup-Similarity": f"{answer.similarity or 0.0:.4f}",
            }
            self._writer.write_record(compose_revisit(record, other, NEAR, how))
        else:
            self._writer.write_record(record)
            reference = reference_to(record)
            self._written[PAYLOADS, digest] = self._written[PAGES, page.id] = reference

    def _known(self, kind: str, key: str | None) -> Reference | None:
        """The record with that payload, or of that page, in this file or an earlier one."""
        if key is None:
            return None
        if (kind, key) in self._written:
            return self._written[kind, key]
        stored = self._index.store.read(lambda session: session.state(kind, key))
        return None if stored is None else Reference(*json.loads(stored))

    def remember(self) -> None:
        """Store where whole records are, for the next run."""
        rows = [
            (kind, key, json.dumps(astuple(reference)))
            for (kind, key), reference in self._written.items()
        ]
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            self._index.store.write(partial(Session.put_state, rows=some))
