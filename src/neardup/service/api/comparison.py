"""/v1/compare: two pages by one method or by all, each sent with the request or stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

import pyarrow as pa
from fastapi import APIRouter, Request

from neardup.api import judge_parsed
from neardup.errors import UsageError
from neardup.index import Feedback, Index
from neardup.index.contents import texts_with_weights, weighed_texts, word_on
from neardup.index.intake import take_in
from neardup.local.features import survey_batch
from neardup.methods.base import Method
from neardup.methods.registry import every_method, make_method
from neardup.model import Page, RawPage, Verdict
from neardup.pages import Limits
from neardup.report.side_by_side import PageText
from neardup.service.problems import Problem, not_found
from neardup.service.records import (
    Compared,
    CompareIn,
    PageIn,
    VerdictOut,
    body_of,
    page_from,
    plain_id,
    validated,
)
from neardup.service.service import for_readers, read_json, service_of

router = APIRouter(prefix="/v1/compare", tags=["compare"])

Side = str | RawPage  # the id of a stored page, or a page sent with the request
ALL = "all"

_SCHEMA = CompareIn.model_json_schema()
_SCHEMA.pop("$defs")
_SCHEMA["properties"] |= dict.fromkeys("ab", PageIn.model_json_schema())


@router.post("", openapi_extra=body_of(_SCHEMA), **for_readers(404, 408, 409, 413, 415))
async def compare_pages(request: Request) -> Compared:
    """Compare two pages by one method or by all. Nothing is stored.

    A page named only by its id must be in the index.
    """
    service = service_of(request)
    query, a, b = await read_json(request, partial(_read, limits=service.settings.limits))
    comparison = await service.workers.compare(
        compare, service.index, a, b, query.method, preset=query.preset, options=query.options
    )
    verdicts = [
        VerdictOut(method=name, **asdict(verdict)) for name, verdict in comparison.verdicts.items()
    ]
    return Compared(verdicts=verdicts, feedback=comparison.feedback)


def _read(body: bytes, limits: Limits) -> tuple[CompareIn, Side, Side]:
    query = validated(CompareIn, body)
    return query, _side(query.a, "a", limits), _side(query.b, "b", limits)


def _side(page: PageIn, name: str, limits: Limits) -> Side:
    if page.html is None and page.text is None and page.id:
        return plain_id(page.id)
    return page_from(page, limits, name)


@dataclass(frozen=True)
class Comparison:
    """Verdicts on two pages."""

    verdicts: dict[str, Verdict]  # by method
    feedback: Feedback | None  # a person's decision, which overrides them
    texts: tuple[PageText, PageText]  # as the method of the index sees them


def compare(
    index: Index,
    a: Side,
    b: Side,
    method: str,
    *,
    preset: str = "default",
    options: Mapping[str, object] | None = None,
) -> Comparison:
    """The verdict of each method, and a person's decision on two stored pages.

    For two stored pages the index's own method repeats the verdict it gave when they were added,
    because it knows their sites. The other methods see only the two pages.
    """
    chosen = _methods(method, preset, options)
    contents = [replace(_content(index, side), id=name) for side, name in ((a, "a"), (b, "b"))]
    batch = take_in(contents).pages
    verdicts = {each.name: judge_parsed(each, batch) for each in chosen}
    feedback = texts = None
    if isinstance(a, str) and isinstance(b, str):
        feedback, texts = word_on(index.store, a, b), stored_texts(index, a, b)
        if index.method.name in verdicts and not options:
            verdicts[index.method.name] = index.explain(a, b)
    return Comparison(verdicts, feedback, texts or _texts_alone(index.method, batch))


def _texts_alone(method: Method, pages: pa.RecordBatch) -> tuple[PageText, PageText]:
    """The texts of two pages as the method sees them if it knows no others of their sites."""
    a, b = texts_with_weights(method, pages, survey_batch(method, pages))
    return PageText.of(*a), PageText.of(*b)


def stored_texts(index: Index, a: str, b: str) -> tuple[PageText, PageText] | None:
    """The texts of two stored pages as the method of the index sees them, if they are kept."""
    texts = index.store.read(lambda session: weighed_texts(index.method, session, [a, b]))
    return (PageText.of(*texts[0]), PageText.of(*texts[1])) if texts else None


def _methods(name: str, preset: str, options: Mapping[str, object] | None) -> list[Method]:
    if name != ALL:
        return [make_method(name, options, preset=preset)]
    if options:
        raise UsageError("options need a single method")
    return every_method(preset)


def _content(index: Index, side: Side) -> Page | RawPage:
    if isinstance(side, RawPage):
        return side
    stored = index.text(side)
    if stored is not None:
        return stored
    if index.page(side) is None:
        raise not_found(f"no page with id {side!r} in the index")
    raise Problem(409, "no-text", "this store keeps no texts, so its pages cannot be compared")
