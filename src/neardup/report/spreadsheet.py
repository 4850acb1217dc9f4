"""`result.xlsx`: the tables of a result as sheets of one workbook, written row by row.

Text is written as inline strings, which no spreadsheet runs as a formula, whatever they begin with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa

ROWS_OF_A_SHEET = 1_048_576  # that Excel opens; more go to the next sheet
LONGEST_CELL = 32_767
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
FORMATS = "http://schemas.openxmlformats.org"
MAIN = f'xmlns="{FORMATS}/spreadsheetml/2006/main"'
RELATED = f"{FORMATS}/officeDocument/2006/relationships"
PACKAGE = f"{FORMATS}/package/2006"
SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def write_workbook(
    path: Path, tables: Iterable[tuple[str, pa.Schema, Iterable[pa.RecordBatch]]]
) -> None:
    """Write tables (name, schema, batches) as sheets; evidence becomes its reason."""
    names = []
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        for table, schema, batches in tables:
            rows = _rows(batches)
            for part in range(1, 1_000):
                some = list(islice(rows, 1))
                if part > 1 and not some:
                    break
                names.append(table if part == 1 else f"{table} {part}")
                place = ZipInfo(f"xl/worksheets/sheet{len(names)}.xml")
                place.compress_type = ZIP_DEFLATED
                with file.open(place, "w", force_zip64=True) as sheet:
                    sheet.write(f"{HEAD}<worksheet {MAIN}><sheetData>".encode())
                    heading = ["why" if name == "evidence" else name for name in schema.names]
                    body = islice(chain(some, rows), ROWS_OF_A_SHEET - 1)
                    for row in chain([heading], body):
                        sheet.write(_row(row).encode())
                    sheet.write(b"</sheetData></worksheet>")
        for name, content in _parts(names):
            file.writestr(ZipInfo(name), HEAD + content)


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Iterable[Any]]:
    for batch in batches:
        columns = [
            [json.loads(value).get("why") for value in column.to_pylist()]
            if name == "evidence"
            else column.to_pylist()
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield from zip(*columns, strict=True)


def _row(values: Iterable[Any]) -> str:
    return f"<row>{''.join(map(_cell, values))}</row>"


def _cell(value: Any) -> str:
    match value:
        case None:
            return "<c/>"
        case bool():
            return f'<c t="b"><v>{int(value)}</v></c>'
        case int() | float():
            return f"<c><v>{value}</v></c>"
    text = escape(ILLEGAL.sub("\ufffd", str(value)[:LONGEST_CELL]), quote=False)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _parts(names: list[str]) -> Iterator[tuple[str, str]]:
    """What a workbook needs beside its sheets."""
    numbered = list(enumerate(names, 1))
    sheets = [
        f'<sheet name="{escape(name)}" sheetId="{at}" r:id="r{at}"/>' for at, name in numbered
    ]
    yield (
        "xl/workbook.xml",
        f'<workbook {MAIN} xmlns:r="{RELATED}"><sheets>{"".join(sheets)}</sheets></workbook>',
    )
    links = [_link(at, "worksheet", f"worksheets/sheet{at}.xml") for at, _ in numbered]
    yield "xl/_rels/workbook.xml.rels", _links(*links)
    yield "_rels/.rels", _links(_link(1, "officeDocument", "xl/workbook.xml"))
    kinds = {"xl/workbook.xml": "sheet.main"}
    kinds |= {f"xl/worksheets/sheet{at}.xml": "worksheet" for at, _ in numbered}
    parts = [
        f'<Override PartName="/{part}" ContentType="{SHEET}.{kind}+xml"/>'
        for part, kind in kinds.items()
    ]
    links_kind = "application/vnd.openxmlformats-package.relationships+xml"
    yield (
        "[Content_Types].xml",
        f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{links_kind}"/>{"".join(parts)}</Types>',
    )


def _link(number: int, kind: str, target: str) -> str:
    return f'<Relationship Id="r{number}" Type="{RELATED}/{kind}" Target="{target}"/>'


def _links(*links: str) -> str:
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(links)}</Relationships>'
