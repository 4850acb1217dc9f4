"""What to do about duplicates, for the owner of a site: what to keep, canonical links, redirects.

A duplicate should lead to the page that is kept, by a redirect on its own host, or by a canonical
link on another. Titles that several pages of a host share stand beside the texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from neardup.arrays import Numbers
from neardup.kernels.shingles import mix_all
from neardup.local.outcome import tables_of
from neardup.local.pipeline import Outcome
from neardup.local.result import Format, write_csv
from neardup.pages.urls import host, same_url
from neardup.report.findings import Hosts
from neardup.report.spreadsheet import write_workbook
from neardup.text.sites import title_keys

ROWS_AT_ONCE = 65_536
TITLES_SHOWN = 100  # groups of pages with the same title
PAGES_OF_A_TITLE = 5
LONGEST_TITLE = 400
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


def canonical_state(url: str, declared: str, kept_url: str, kept_declared: str) -> Canonical:
    """The state of the canonical link of a duplicate; `kept_declared` is that of the kept page."""
    if not declared:
        return Canonical.MISSING
    if any(other and same_url(declared, other) for other in (kept_url, kept_declared)):
        return Canonical.RIGHT
    return Canonical.ITSELF if url and same_url(declared, url) else Canonical.CONFLICTING


def action_on(url: str, kept_url: str, state: Canonical) -> Action:
    """What to do about a duplicate."""
    if not (WEB.match(url) and WEB.match(kept_url)) or url == kept_url:
        return Action.REMOVE
    if state is Canonical.RIGHT:
        return Action.NOTHING
    return Action.REDIRECT if host(url) == host(kept_url) else Action.LINK


def action_rows(outcome: Outcome) -> Iterator[pa.RecordBatch]:
    """A row for each duplicate (`ACTIONS`), in batches."""
    duplicates = np.flatnonzero(~outcome.is_kept)
    pages = outcome.corpus.pages
    for start in range(0, duplicates.size, ROWS_AT_ONCE):
        some = duplicates[start : start + ROWS_AT_ONCE]
        kept = outcome.kept[some]
        urls, kept_urls = (pages["url"].take(pa.array(each)).to_pylist() for each in (some, kept))
        names, kept_names = (
            outcome.corpus.ids.take(pa.array(each)).to_pylist() for each in (some, kept)
        )
        declared, kept_declared = (
            pages["canonical_url"].take(pa.array(each)).to_pylist() for each in (some, kept)
        )
        names = [*map(_address, urls, kept_urls, names)]
        kept_names = [*map(_address, kept_urls, urls, kept_names)]
        states = [*map(canonical_state, urls, declared, kept_urls, kept_declared)]
        to_kept = outcome.to_kept.slice(start, some.size)
        yield pa.record_batch(
            [
                pa.array(names, pa.string()),
                pa.array(kept_names, pa.string()),
                pa.array([*map(str, map(action_on, urls, kept_urls, states))]),
                pa.array([*map(str, states)]),
                pa.array(declared, pa.string()),
                pa.array([host(a) == host(b) != "" for a, b in zip(urls, kept_urls, strict=True)]),
                to_kept["relation"].combine_chunks(),
                to_kept["similarity"].combine_chunks(),
            ],
            schema=ACTIONS,
        )


def _address(url: str, other: str, name: str) -> str:
    """Two copies of one address are told apart by their ids."""
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


# Titles


@dataclass(frozen=True)
class SharedTitle:
    """Pages of one host that are kept and whose titles have the same words, numbers apart."""

    host: str
    title: str
    count: int
    pages: list[str]  # addresses of some of them


def shared_titles(outcome: Outcome, hosts: Hosts) -> list[SharedTitle]:
    """The titles that most pages share; nothing is known of pages without text."""
    keys = np.zeros(len(outcome.corpus), np.uint64)
    for numbers, batch in outcome.corpus.read_pages(["title"], np.flatnonzero(outcome.is_kept)):
        keys[numbers] = title_keys(batch)
    named = np.array([bool(name) for name in hosts.names], bool)[hosts.of_page]
    pages = np.flatnonzero((keys != 0) & named)
    mixed = mix_all(keys[pages] ^ mix_all(hosts.of_page[pages].astype(np.uint64)))
    _, group, counts = np.unique(mixed, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:TITLES_SHOWN]
    groups = [pages[group == each] for each in order.tolist() if counts[each] > 1]
    return _named_titles(outcome, hosts, groups)


def _named_titles(outcome: Outcome, hosts: Hosts, groups: list[Numbers]) -> list[SharedTitle]:
    firsts = np.array([some[0] for some in groups], np.int64)
    titles = outcome.corpus.read_column("title", firsts, LONGEST_TITLE)
    found = []
    for some in groups:
        shown = pa.array(some[:PAGES_OF_A_TITLE])
        addresses = outcome.corpus.pages["url"].take(shown).to_pylist()
        name = hosts.names[int(hosts.of_page[some[0]])]
        found.append(SharedTitle(name, titles[int(some[0])], int(some.size), addresses))
    return sorted(found, key=lambda each: (-each.count, each.host, each.title))
