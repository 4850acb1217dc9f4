"""Pages that are files: HTML and plain text.

One stream of pages out of many files, each read by the reader of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.inputs import File, Kind, kind_of_content, resumes
from neardup.pages.jsonl import read_lines
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks, chunks
from neardup.pages.warc import WarcReader


def read_file(
    path: str, name: str, chunks: Chunks, limits: Limits, *, is_html: bool
) -> RawPage | Skip:
    """The page in one file. Its time is unknown: a file's own changes with every copy."""
    source = Source(path)
    pieces: list[bytes] = []
    size = 0
    for data, _, damage in chunks:
        if damage:
            return Skip(source, damage.reason, damage.detail, name)
        size += len(data)
        if size > limits.page_bytes:
            detail = f"above {limits.page_bytes} bytes"
            return Skip(source, SkipReason.TOO_LARGE, detail, name)
        pieces.append(data)
    if not size:
        return Skip(source, SkipReason.EMPTY, "the file is empty", name)
    # Two folders may hold the same relative path; the whole path tells the pages apart
    return RawPage(name, b"".join(pieces), is_html, source, again=path)


_KNOWN = "HTML, text, WARC, ARC, JSON lines or Parquet"


class Reading:
    """One pass over the files of a run."""

    def __init__(self, limits: Limits, *, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self._warc = WarcReader(limits, keep_original=keep_original)
        self._archives: list[File] = []

    def read(self, files: Iterable[File]) -> Iterator[RawPage | Skip]:
        """The pages of all files in order, then those that revisit records repeat."""
        for file in files:
            yield from _guarded(file, self._read_file(file))
        for file in self._archives:
            if self._warc.revisits:
                yield from _guarded(file, self._resolve(file))
        yield from self._warc.revisits.unresolved()

    def _read_file(self, file: File) -> Iterator[RawPage | Skip]:
        if file.kind is Kind.OTHER:
            yield Skip(
                Source(file.source), SkipReason.NOT_HTML, "not a page by its name", file.name
            )
            return
        with file.place.open(file.path) as stream:
            content = _Peeked(chunks(stream, resumes))
            kind = kind_of_content(content.start) if file.kind is Kind.UNTOLD else file.kind
            if content.is_empty:
                yield Skip(Source(file.source), SkipReason.EMPTY, "the file is empty", file.name)
            elif kind is Kind.PARQUET:
                yield from self._read_parquet(file)
            else:
                yield from self._read_content(file, kind, content.chunks)

    def _read_content(self, file: File, kind: Kind, content: Chunks) -> Iterator[RawPage | Skip]:
        if kind is Kind.ARCHIVE:
            self._archives.append(file)
            yield from self._warc.read(file.source, content)
        elif kind is Kind.JSONL:
            keep = self._keep_original
            yield from read_lines(file.source, content, self._limits, keep_original=keep)
        elif kind is Kind.OTHER:
            detail = f"neither name nor content tell what it is; known are {_KNOWN}"
            yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)
        else:
            is_html = kind is Kind.HTML
            yield read_file(file.source, file.name, content, self._limits, is_html=is_html)

    def _read_parquet(self, file: File) -> Iterator[RawPage | Skip]:
        from neardup.pages.parquet import read_parquet  # noqa: PLC0415 - pyarrow is heavy

        with file.place.open(file.path) as stream:  # from its start again
            keep = self._keep_original
            yield from read_parquet(file.source, stream, self._limits, keep_original=keep)

    def _resolve(self, file: File) -> Iterator[RawPage | Skip]:
        with file.place.open(file.path) as stream:
            yield from self._warc.resolve(chunks(stream, resumes))


class _Peeked:
    """Chunks whose first bytes have been looked at."""

    def __init__(self, source: Chunks) -> None:
        first = next(source, None)
        self.is_empty = first is None
        self.start = first.data if first else b""
        self.chunks = Chunks(chain([first] if first else [], source), source.size)


def _guarded(file: File, pages: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """A file that cannot be read is one skip."""
    try:
        yield from pages
    except OSError as error:
        detail = error.strerror or str(error)
        yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)
