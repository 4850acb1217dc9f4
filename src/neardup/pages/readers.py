"""One stream of records out of many files, each read by the reader of its format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.formats import FORMATS, Reader, format_of_content, known_endings
from neardup.pages.inputs import IGNORED, File, resumes
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks, chunks


class Reading:
    """One pass over the files of a run."""

    def __init__(self, limits: Limits, *, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original
        self._readers: dict[str, Reader] = {}

    def read(self, files: Iterable[File]) -> Iterator[RawPage | Skip]:
        """The records of all files in order, then what readers can only tell at the end."""
        for file in files:
            yield from guarded(file, self._read_file(file))
        for reader in self._readers.values():
            yield from reader.finish()

    def _read_file(self, file: File) -> Iterator[RawPage | Skip]:
        if file.format == IGNORED:
            detail = "not a page by its name"
            yield Skip(Source(file.source), SkipReason.NOT_HTML, detail, file.name)
            return
        with file.open() as stream:
            content = _Peeked(chunks(stream, resumes))
            form = file.format or format_of_content(content.start)
            if content.is_empty:
                yield Skip(Source(file.source), SkipReason.EMPTY, "the file is empty", file.name)
            elif not form:
                detail = f"neither name nor content tells the format; known are {known_endings()}"
                yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)
            else:
                yield from self._reader(form).read(file, content.chunks)

    def _reader(self, name: str) -> Reader:
        if name not in self._readers:
            form = FORMATS.get(name)
            assert form is not None
            self._readers[name] = form.make_reader(self._limits, keep_original=self._keep_original)
        return self._readers[name]


class _Peeked:
    """Chunks whose first bytes have been looked at."""

    def __init__(self, source: Chunks) -> None:
        first = next(source, None)
        self.is_empty = first is None
        self.start = first.data if first else b""
        self.chunks = Chunks(chain([first] if first else [], source), source.size)


def guarded(file: File, pages: Iterator[RawPage | Skip]) -> Iterator[RawPage | Skip]:
    """A file that cannot be read is one skip."""
    try:
        yield from pages
    except OSError as error:
        detail = error.strerror or str(error)
        yield Skip(Source(file.source), SkipReason.UNREADABLE, detail, file.name)


class TextReader:
    """Files that are one page of plain text each."""

    is_html = False

    def __init__(self, limits: Limits, keep_original: bool) -> None:
        del keep_original  # a file is its own original
        self._limits = limits

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        """The page. Its time is unknown: a file's own changes with every copy."""
        yield self._page(file, content)

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing: every file has been read whole."""
        return iter(())

    def _page(self, file: File, content: Chunks) -> RawPage | Skip:
        source = Source(file.source)
        pieces: list[bytes] = []
        size = 0
        for data, _, damage in content:
            if damage:
                return Skip(source, damage.reason, damage.detail, file.name)
            size += len(data)
            if size > self._limits.page_bytes:
                detail = f"above {self._limits.page_bytes} bytes"
                return Skip(source, SkipReason.TOO_LARGE, detail, file.name)
            pieces.append(data)
        if not size:
            return Skip(source, SkipReason.EMPTY, "the file is empty", file.name)
        # Two folders may hold the same relative path; the whole path tells the pages apart
        url = self._limits.url_of(file.name)
        return RawPage(file.name, b"".join(pieces), self.is_html, source, url, again=file.source)


class HtmlReader(TextReader):
    """Files that are one page of HTML each."""

    is_html = True
