"""Pages in CSV files: a line of column names, then a page per row.

Commas, semicolons, tabs or bars separate the values.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator

import pyarrow as pa

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.fields import TableRow, page_from_fields
from neardup.pages.formats import RecordReader
from neardup.pages.inputs import File
from neardup.pages.limits import no_content
from neardup.pages.streams import Chunks, Damage

SEPARATORS = ",;\t|"
_NOT_UTF8 = re.compile(r"[\udc80-\udcff]")


class CsvReader(RecordReader):
    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        path = file.source
        csv.field_size_limit(max(csv.field_size_limit(), self._limits.line_bytes))
        lines = _Lines(content)
        first = next(lines, "")
        separator = max(SEPARATORS, key=first.count)
        names = next(_rows(iter([_NOT_UTF8.sub("\ufffd", first)]), separator), [])
        if isinstance(names, str) or not {*self._limits.columns.content} & {*names}:
            detail = names if isinstance(names, str) else no_content(self._limits.columns, names)
            yield Skip(Source(path), SkipReason.NO_CONTENT, detail)
            return
        number = -1
        for number, row in enumerate(_rows(lines, separator)):
            if isinstance(row, str):
                yield Skip(Source(path, number), SkipReason.BAD_RECORD, row)
            elif row:
                yield self._page(names, row, Source(path, number))
        if lines.damage:
            yield Skip(Source(path, number + 1), lines.damage.reason, lines.damage.detail)

    def _page(self, names: list[str], row: list[str], source: Source) -> RawPage | Skip:
        if len(row) != len(names):
            detail = f"{len(row)} values for {len(names)} columns"
            return Skip(source, SkipReason.BAD_RECORD, detail)
        if not _is_utf8(row):
            detail = "not UTF-8: save the file as UTF-8"
            return Skip(source, SkipReason.BAD_RECORD, detail)
        original = None
        if self._keep_original:
            columns = [pa.array([value], pa.large_string()) for value in row]
            original = TableRow(pa.record_batch(columns, names), 0)
        fields = self._limits.columns.pick(dict(zip(names, row, strict=True)))
        return page_from_fields(fields, source, self._limits, original)


def _rows(lines: Iterator[str], separator: str) -> Iterator[list[str] | str]:
    """Each row, or why it cannot be read; reading then goes on with the next line."""
    rows = csv.reader(lines, delimiter=separator)
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"not CSV: {error}"


def _is_utf8(row: list[str]) -> bool:
    """Whether a row was UTF-8: decoding turns other bytes into lone surrogates."""
    return all(value.isascii() or not _NOT_UTF8.search(value) for value in row)


class _Lines:
    """The lines of a file, with their ends, up to the first damage.

    A row has several lines if there are line ends in its text.
    """

    def __init__(self, content: Chunks) -> None:
        self.damage: Damage | None = None
        self._lines = self._read(content)

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)

    def _read(self, content: Chunks) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        rest = ""
        for data, _, self.damage in content:
            if self.damage:
                return
            *whole, rest = (rest + decoder.decode(data)).split("\n")
            yield from (line + "\n" for line in whole)
        rest += decoder.decode(b"", final=True)
        if rest:
            yield rest
