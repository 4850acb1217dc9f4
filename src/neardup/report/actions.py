"""What to do about duplicates, for the owner of a site: what to keep, canonical links, redirects.

A duplicate should lead to the page that is kept, by a redirect on its own host, or by a canonical
link on another. Beside the texts stand the titles and descriptions that pages of a host share.
Spreadsheets get all of it as one workbook.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.kernels.shingles import mix_all
from neardup.local.outcome import tables_of
from neardup.local.pipeline import Outcome
from neardup.local.result import Format, write_csv
from neardup.pages.urls import host
from neardup.report.findings import Hosts
from neardup.text.metadata import canonical_urls, is_empty
from neardup.text.sites import title_keys

ROWS_AT_ONCE = 65_536
GROUPS_SHOWN = 100  # of pages with the same title or description
PAGES_OF_A_GROUP = 5
LONGEST_SHOWN = 400  # characters
WEB = re.compile(r"https?://", re.IGNORECASE)
NGINX, APACHE = "redirects.nginx.conf", "redirects.apache.txt"

ACTIONS = pa.schema(
    [
        pa.field("page", pa.string(), nullable=False),
        pa.field("keep", pa.string(), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("canonical", pa.string(), nullable=False),
        pa.field("canonical_url", pa.string(), nullable=False),
        pa.field("same_host", pa.bool_(), nullable=False),
        pa.field("relation", pa.string()),
        pa.field("similarity", pa.float64()),
    ]
)


class Canonical(StrEnum):
    """What the canonical link of a duplicate says."""

    MISSING = "missing"
    RIGHT = "right"  # it leads to the page that is kept
    ITSELF = "itself"  # the page claims to be the original
    CONFLICTING = "conflicting"  # it leads to a third page


class Action(StrEnum):
    REDIRECT = "redirect"
    LINK = "set canonical"
    NOTHING = "none"  # the canonical link is right
    REMOVE = "remove"  # the page has no address of its own


def canonical_states(
    urls: pa.Array, declared: pa.Array, kept_urls: pa.Array, kept_declared: pa.Array
) -> pa.Array:
    """`Canonical` of each duplicate. `kept_declared` are the links of the kept pages; links are in
    canonical form, as in a corpus."""
    url, kept_url = (canonical_urls(each)[0] for each in (urls, kept_urls))
    return pc.case_when(
        pc.make_struct(
            is_empty(declared),
            pc.or_(pc.equal(declared, kept_declared), pc.equal(declared, kept_url)),
            pc.equal(declared, url),
        ),
        *map(str, (Canonical.MISSING, Canonical.RIGHT, Canonical.ITSELF, Canonical.CONFLICTING)),
    )


def action_on(url: str, kept_url: str, state: str) -> Action:
    """What to do about a duplicate."""
    if not (WEB.match(url) and WEB.match(kept_url)) or url == kept_url:
        return Action.REMOVE
    if state == Canonical.RIGHT:
        return Action.NOTHING
    return Action.REDIRECT if host(url) == host(kept_url) else Action.LINK


def action_rows(outcome: Outcome) -> Iterator[pa.RecordBatch]:
    """A row for each duplicate (`ACTIONS`), in batches."""
    duplicates = np.flatnonzero(~outcome.is_kept)
    pages = outcome.corpus.pages
    for start in range(0, duplicates.size, ROWS_AT_ONCE):
        some = duplicates[start : start + ROWS_AT_ONCE]
        kept = outcome.kept[some]
        ours, theirs = (
            pages.take(rows, ["url", "canonical_url", "id"]).columns for rows in (some, kept)
        )
        states = canonical_states(*ours[:2], *theirs[:2])
        urls, declared, names = (each.to_pylist() for each in ours)
        kept_urls, _, kept_names = (each.to_pylist() for each in theirs)
        names = [*map(_address, urls, kept_urls, names)]
        kept_names = [*map(_address, kept_urls, urls, kept_names)]
        to_kept = outcome.to_kept.slice(start, some.size)
        yield pa.record_batch(
            [
                pa.array(names, pa.string()),
                pa.array(kept_names, pa.string()),
                pa.array([*map(str, map(action_on, urls, kept_urls, states.to_pylist()))]),
                states,
                pa.array(declared, pa.string()),
                pa.array([host(a) == host(b) != "" for a, b in zip(urls, kept_urls, strict=True)]),
                to_kept["relation"].combine_chunks(),
                to_kept["similarity"].combine_chunks(),
            ],
            schema=ACTIONS,
        )


def _address(url: str, other: str, name: str) -> str:
    """Two copies of one address are distinguished by their ids."""
    return url if url and url != other else name


def write_actions(folder: Path, outcome: Outcome, format: Format) -> None:  # noqa: A002
    """What a result for spreadsheets has beside its tables: actions, redirects, a workbook."""
    if format == "csv":
        write_csv(folder / "actions.csv", ACTIONS, action_rows(outcome))
    elif format == "xlsx":
        sheets = [("actions", ACTIONS, action_rows(outcome)), *tables_of(outcome)]
        write_workbook(folder / "result.xlsx", sheets)
    if format in ("csv", "xlsx"):
        write_redirects(folder, outcome)


# Redirects. Addresses come from pages: only characters that mean nothing to a server are left as
# they are, so that no address can end its line, name a variable or open a block.

SAFE = "/:?=&,.-_~+!*()@%"
ABOUT_NGINX = """\
# Duplicates and the pages to keep, made by neardup. In the http block:
#     include {file};
# and in the server block:
#     if ($neardup_keep) {{ return 301 $neardup_keep; }}
map_hash_bucket_size 1024;
map "$host$request_uri" $neardup_keep {{
    default "";
"""
ABOUT_APACHE = """\
# Duplicates and the pages to keep, made by neardup. In the server or virtual host:
#     RewriteEngine On
#     RewriteMap neardup "txt:/path/to/{file}"
#     RewriteCond "%{{THE_REQUEST}}" "^[A-Z]+ (\\S+)"
#     RewriteCond "${{neardup:%{{HTTP_HOST}}%1}}" "^(.+)$"
#     RewriteRule "^" "%1" [R=301,L,NE]
"""


def write_redirects(folder: Path, outcome: Outcome) -> None:
    """The redirects of duplicates to kept pages of their host, for nginx and for Apache."""
    with (folder / NGINX).open("w", encoding="ascii", newline="\n") as nginx:
        nginx.write(ABOUT_NGINX.format(file=NGINX))
        with (folder / APACHE).open("w", encoding="ascii", newline="\n") as apache:
            apache.write(ABOUT_APACHE.format(file=APACHE))
            for batch in action_rows(outcome):
                for row in batch.select(["page", "keep", "action"]).to_pylist():
                    if row["action"] == Action.REDIRECT:
                        page, keep = quote(row["page"], SAFE), quote(row["keep"], SAFE)
                        page = page.partition("://")[2]
                        nginx.write(f'    "{page}" "{keep}";\n')
                        apache.write(f"{page} {keep}\n")
        nginx.write("}\n")


# Titles and descriptions


@dataclass(frozen=True)
class SharedWords:
    """Kept pages of one host whose titles, or descriptions, have the same words, numbers apart."""

    host: str
    words: str  # those of the first page
    count: int
    pages: list[str]  # addresses of some of them


def shared_words(
    outcome: Outcome, hosts: Hosts, column: Literal["title", "description"]
) -> list[SharedWords]:
    """The titles or descriptions that most pages of a host share.

    Pages of an earlier result are left out, as their text is not read again.
    """
    keys = np.zeros(len(outcome.corpus), np.uint64)
    for numbers, batch in outcome.corpus.read_pages([column], np.flatnonzero(outcome.is_kept)):
        keys[numbers] = title_keys(batch.rename_columns(["title"]))
    named = np.array([bool(name) for name in hosts.names], bool)[hosts.of_page]
    pages = np.flatnonzero((keys != 0) & named)
    mixed = mix_all(keys[pages] ^ mix_all(hosts.of_page[pages].astype(np.uint64)))
    _, group, counts = np.unique(mixed, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:GROUPS_SHOWN]
    groups = [pages[group == each] for each in order.tolist() if counts[each] > 1]
    firsts = np.array([some[0] for some in groups], np.int64)
    words = outcome.corpus.read_column(column, firsts, LONGEST_SHOWN).to_pylist()
    shared = [
        SharedWords(
            host=hosts.names[int(hosts.of_page[some[0]])],
            words=first_words,
            count=int(some.size),
            pages=outcome.corpus.pages.take(some[:PAGES_OF_A_GROUP], ["url"])["url"].to_pylist(),
        )
        for some, first_words in zip(groups, words, strict=True)
    ]
    return sorted(shared, key=lambda each: (-each.count, each.host, each.words))


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
    path: Path,
    tables: Iterable[tuple[str, pa.Schema, Iterable[pa.RecordBatch]]],
    rows_of_a_sheet: int = ROWS_OF_A_SHEET,
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
                    body = islice(chain(some, rows), rows_of_a_sheet - 1)
                    for row in chain([heading], body):
                        sheet.write(f"<row>{''.join(map(_cell, row))}</row>".encode())
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
