"""Pages of CSV files: a line of names, then a page a row. Commas, semicolons or tabs separate."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator

import pyarrow as pa

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.columns import no_content
from neardup.pages.fields import TableRow, page_from_fields
from neardup.pages.inputs import File
from neardup.pages.limits import Limits
from neardup.pages.streams import Chunks

SEPARATORS = ",;\t|"


class CsvReader:
    def __init__(self, limits: Limits, keep_original: bool) -> None:
        self._limits = limits
        self._keep_original = keep_original

    def read(self, file: File, content: Chunks) -> Iterator[RawPage | Skip]:
        path, number = file.source, 0
        csv.field_size_limit(max(csv.field_size_limit(), self._limits.line_bytes))
        try:
            lines = _lines(content)
            first = next(lines, "")
            separator = max(SEPARATORS, key=first.count)
            names = next(csv.reader([first], delimiter=separator), [])
            if not {*self._limits.columns.content} & {*names}:
                detail = no_content(self._limits.columns, names)
                yield Skip(Source(path), SkipReason.NO_CONTENT, detail)
                return
            for number, row in enumerate(csv.reader(lines, delimiter=separator)):
                if row:
                    yield self._page(names, row, Source(path, number))
        except _DamagedError as error:
            yield Skip(Source(path, number), error.reason, str(error))
        except UnicodeDecodeError:
            detail = "not UTF-8: save the file as UTF-8"
            yield Skip(Source(path, number), SkipReason.BAD_RECORD, detail)
        except csv.Error as error:
            yield Skip(Source(path, number), SkipReason.BAD_RECORD, f"not CSV: {error}")

    def finish(self) -> Iterator[RawPage | Skip]:
        """Nothing: every row stands for itself."""
        return iter(())

    def _page(self, names: list[str], row: list[str], source: Source) -> RawPage | Skip:
        if len(row) != len(names):
            detail = f"{len(row)} values for {len(names)} columns"
            return Skip(source, SkipReason.BAD_RECORD, detail)
        original = None
        if self._keep_original:
            columns = [pa.array([value], pa.large_string()) for value in row]
            original = TableRow(pa.record_batch(columns, names), 0)
        fields = self._limits.columns.pick(dict(zip(names, row, strict=True)))
        return page_from_fields(fields, source, self._limits, original)


class _DamagedError(Exception):
    """The compressed file is damaged."""

    def __init__(self, reason: SkipReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


def _lines(content: Chunks) -> Iterator[str]:
    """The lines of a file, with their ends; a row whose text has line ends is several."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    rest = ""
    for data, _, damage in content:
        if damage:
            raise _DamagedError(damage.reason, damage.detail)
        *whole, rest = (rest + decoder.decode(data)).split("\n")
        yield from (line + "\n" for line in whole)
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest
