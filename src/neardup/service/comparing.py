"""Two pages by one method or by all: pages that are given, stored, or one of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from neardup.errors import UsageError
from neardup.index import Feedback, Index
from neardup.index.contents import word_on
from neardup.index.intake import take_in
from neardup.local.survey import survey_of
from neardup.methods.base import REGISTRY, Method, make_method, method_class
from neardup.model import Page, RawPage, Relation, Verdict
from neardup.service.problems import Problem, not_found

Side = str | RawPage  # the id of a stored page, or a page
ALL = "all"


@dataclass(frozen=True)
class Comparison:
    """What was found of two pages; the tuples hold one entry a page."""

    verdicts: dict[str, Verdict]  # by method
    said: Feedback | None  # a person's word, which goes before them
    titles: tuple[str, str]
    texts: tuple[str, str]


def compare(
    index: Index,
    a: Side,
    b: Side,
    method: str,
    *,
    preset: str = "default",
    options: Mapping[str, object] | None = None,
) -> Comparison:
    """The verdict of each method, and what a person said of two stored pages.

    Of two stored pages the index's own method says what it said when they came: it knows their
    sites. The other methods see nothing but the two pages.
    """
    chosen = _methods(method, preset, options)
    said = word_on(index.store, a, b) if isinstance(a, str) and isinstance(b, str) else None
    named = [replace(_content(index, side), id=name) for side, name in ((a, "a"), (b, "b"))]
    batch = take_in(named).pages
    found = {each.name: _judge(each, batch) for each in chosen}
    own = index.method.name
    if own in found and isinstance(a, str) and isinstance(b, str) and not options:
        found[own] = index.explain(a, b)
    titles, texts = (tuple(batch[name].to_pylist()) for name in ("title", "text"))
    return Comparison(found, said, titles, texts)


def _methods(name: str, preset: str, options: Mapping[str, object] | None) -> list[Method]:
    if name != ALL:
        return [make_method(name, options, preset=preset)]
    if options:
        raise UsageError("options need one method")
    return [
        make_method(each, preset=preset if method_class(each).paper_preset else "default")
        for each in REGISTRY
    ]


def _content(index: Index, side: Side) -> Page | RawPage:
    if isinstance(side, RawPage):
        return side
    stored = index.text(side)
    if stored is not None:
        return stored
    if index.page(side) is None:
        raise not_found(f"there is no page {side!r} in the index")
    raise Problem(409, "no-text", "this store keeps no texts, so its pages cannot be compared")


def _judge(method: Method, pages: pa.RecordBatch) -> Verdict:
    features = method.features(pages, survey_of(method, pages))
    row = method.judge(features.slice(0, 1), features.slice(1, 1)).to_pylist()[0]
    return Verdict(Relation(row["relation"]), row["similarity"], json.loads(row["evidence"]))
