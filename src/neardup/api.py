"""Pages for people: read and parsed, one at a time.

Two pages, one verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from neardup.errors import InputError
from neardup.local.survey import survey_of
from neardup.methods.base import Method, make_method
from neardup.model import Page, RawPage, Relation, Skip, Source, Verdict
from neardup.pages import Limits, read, read_records
from neardup.pages.raw import raw_batch
from neardup.text.parse import pages_from, parse

PAGES_AT_ONCE = 64


def read_pages(inputs: str | Sequence[str], limits: Limits | None = None) -> Iterator[Page]:
    """Every readable page of `inputs`, in reading order. Bad records are passed over."""
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    for batch in read(inputs, limits, max_pages=PAGES_AT_ONCE):
        yield from pages_from(parse(batch.pages))


def html_page(html: str | bytes, *, id: str = "", url: str = "") -> RawPage:  # noqa: A002
    """A page from its HTML; bytes may be in any charset."""
    body = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    return RawPage(id or url, body, True, Source("memory"), url)


def text_page(text: str, *, id: str = "", url: str = "") -> RawPage:  # noqa: A002
    """A page that is plain text."""
    return RawPage(id or url, text.encode("utf-8", "replace"), False, Source("memory"), url)


def compare(
    a: RawPage | str | Path,
    b: RawPage | str | Path,
    *,
    method: str = "own-text",
    options: Mapping[str, object] | None = None,
    preset: str = "default",
) -> Verdict:
    """What page `a` is to page `b`; a path names a file that holds one page."""
    return judge_pair(make_method(method, options, preset=preset), one_page(a), one_page(b))


def judge_pair(method: Method, a: RawPage, b: RawPage) -> Verdict:
    """The method's verdict on two raw pages."""
    pages = parse(raw_batch([a, b]))
    features = method.features(pages, survey_of(method, pages))
    row = method.judge(features.slice(0, 1), features.slice(1, 1)).to_pylist()[0]
    evidence = json.loads(row["evidence"])
    return Verdict(Relation(row["relation"]), row["similarity"], evidence)


def one_page(page: RawPage | str | Path) -> RawPage:
    """The page itself, or the only page of a file."""
    if isinstance(page, RawPage):
        return page
    records = read_records([str(page)])
    found = next(records, None)
    if found is None:
        raise InputError(f"no page in {page}")
    if isinstance(found, Skip):
        detail = f": {found.detail}" if found.detail else ""
        raise InputError(f"{page} cannot be compared, {found.reason}{detail}")
    if next(records, None) is not None:
        raise InputError(f"{page} holds more than one page; give a file with one")
    return found
