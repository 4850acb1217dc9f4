"""Two pages next to each other: stored pairs, the form for any two pages, and feedback on pairs.

A pair is shown with the verdict, its evidence, the feedback on it and both texts, in rows of what
they share and where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query
from starlette.datastructures import FormData, UploadFile
from starlette.responses import RedirectResponse, Response

from neardup.index import Feedback, Index, StoredPage
from neardup.index.contents import reasons, word_on
from neardup.model import RawPage, Source, Verdict
from neardup.pages.fields import to_bytes
from neardup.pages.urls import host
from neardup.report.side_by_side import Marked, mark_texts
from neardup.report.templates import evidence_entries, shortened, visible
from neardup.service.api.clusters import (
    download_feedback_pages,
    download_feedback_pairs,
    save_feedback,
)
from neardup.service.api.comparison import ALL, Comparison, Side, compare, stored_texts
from neardup.service.problems import Problem, not_found
from neardup.service.records import BODY, LONGEST_ID, check_size, plain_id
from neardup.service.review.visits import (
    ReadingVisit,
    Visit,
    WritingVisit,
    own_path,
    pair_path,
    render,
)

router = APIRouter()
LONGEST_NOTE = 2_000
LONGEST_EVIDENCE = 600  # characters of one entry
LISTED_FEEDBACK = 500
Id = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]


class Neighbours(NamedTuple):
    """Where a pair is in the review of its cluster: each page that is not kept, with its reason."""

    place: int  # of this pair, counted from 1; 0 if it is none of them
    pairs: int
    previous: str  # paths
    next: str


@dataclass(frozen=True)
class PairView:
    a: StoredPage
    b: StoredPage
    verdict: Verdict
    feedback: Feedback | None
    texts: Marked | None
    neighbours: Neighbours
    all_verdicts: dict[str, Verdict]


@router.get("/pair")
async def show_pair(
    visit: ReadingVisit,
    a: Id,
    b: Id,
    methods: Annotated[str, Query(max_length=10)] = "",
    done: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """Two stored pages, what they share, and the verdict."""
    ids = plain_id(a), plain_id(b)
    pair = await visit.service.workers.compare(_pair, visit.service.index, *ids, methods == ALL)
    return render(
        visit,
        "pair.html",
        pair=pair,
        method=visit.service.index.method.name,
        evidence=_evidence(pair.verdict.evidence, visit),
        done=done,
    )


def _pair(index: Index, a: str, b: str, with_all: bool) -> PairView:
    if a == b:
        raise Problem(422, "one-page", "a pair needs two different pages")
    pages = index.page(a), index.page(b)
    if pages[0] is None or pages[1] is None:
        raise not_found("both pages must be in the index")
    texts = stored_texts(index, a, b)
    return PairView(
        pages[0],
        pages[1],
        index.explain(a, b),
        word_on(index.store, a, b),
        mark_texts(*texts) if texts else None,
        _neighbours(index, pages[0]),
        compare(index, a, b, ALL).verdicts if with_all and texts else {},
    )


def _neighbours(index: Index, page: StoredPage) -> Neighbours:
    """The previous and the next pair when the pages of a cluster are reviewed in order."""
    cluster = index.cluster(page.cluster)
    ids = [each for each in cluster.members if each != cluster.kept] if cluster else []
    if cluster is None or page.id not in ids:
        return Neighbours(0, len(ids), "", "")
    at = ids.index(page.id)
    around = [ids[each] if 0 <= each < len(ids) else "" for each in (at - 1, at + 1)]
    why = index.store.read(lambda session: reasons(index.method, session, [*filter(None, around)]))
    paths = [pair_path(each, why[each].of or cluster.kept) if each else "" for each in around]
    return Neighbours(at + 1, len(ids), *paths)


def _evidence(evidence: Mapping[str, Any], visit: Visit) -> list[tuple[str, str]]:
    """Each entry as text, short ones first; without the reason, which the page shows above."""
    translate = visit.translate
    entries = [
        (visible(name), shortened(_text(value, translate), LONGEST_EVIDENCE))
        for name, value in evidence_entries(evidence, visit.language).items()
        if name != "why"
    ]
    return sorted(entries, key=lambda entry: len(entry[1]) > 40)


def _text(value: Any, translate: Callable[..., str]) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return translate("yes") if value else translate("no")
        case float():
            return f"{value:.4g}"
        case int():
            return f"{value:,}"
        case Mapping():
            return ", ".join(f"{name}: {_text(each, translate)}" for name, each in value.items())
        case list():
            return ", ".join(_text(each, translate) for each in value) or "–"
    return str(value)


# The form for any two pages


@dataclass(frozen=True)
class ComparisonView:
    comparison: Comparison
    texts: Marked
    evidence: Mapping[str, Any]  # of the method of the index


@router.get("/compare")
async def show_form(visit: ReadingVisit) -> Response:
    return render(visit, "compare.html", result=None, fields={}, error="")


@router.post("/compare")
async def compare_pages(visit: ReadingVisit) -> Response:
    """Every method's verdict on two pages; nothing is stored."""
    form = await visit.form()
    fields = {name: value for name, value in form.items() if isinstance(value, str)}
    result, error, status = None, "", 200
    try:
        sides = [await _side(visit, form, name) for name in ("a", "b")]
        result = await visit.service.workers.compare(_compare, visit.service.index, *sides)
    except Problem as problem:
        if problem.status_code >= 500:
            raise
        error, status = str(problem.detail), problem.status_code
    await form.close()
    return render(visit, "compare.html", status, result=result, fields=fields, error=error)


def _compare(index: Index, a: Side, b: Side) -> ComparisonView:
    comparison = compare(index, a, b, ALL)
    verdict = comparison.verdicts.get(index.method.name)
    evidence = verdict.evidence if verdict else {}
    return ComparisonView(comparison, mark_texts(*comparison.texts), evidence)


async def _side(visit: Visit, form: FormData, name: str) -> Side:
    """One side of the form: the file, else the pasted text, else the id of a stored page."""
    upload, pasted = form.get(f"{name}_file"), form.get(f"{name}_text")
    id_, url = form.get(f"{name}_id"), form.get(f"{name}_url")
    address = plain_id(url.strip()) if isinstance(url, str) else ""
    is_html = form.get(f"{name}_kind") != "text"
    if isinstance(upload, UploadFile) and upload.filename:
        body = await upload.read()
        if upload.filename.lower().endswith(".txt"):
            is_html = False
    elif isinstance(pasted, str) and pasted.strip():
        body = to_bytes(pasted)
    elif isinstance(id_, str) and id_.strip():
        return plain_id(id_.strip())
    else:
        raise Problem(422, "no-content", f"page {name.upper()} is missing")
    check_size(body, visit.service.settings.limits, f"page {name.upper()}")
    return RawPage(name, body, is_html, Source(BODY), address if host(address) else "")


# Feedback


@router.get("/feedback")
async def list_feedback(visit: ReadingVisit) -> Response:
    feedback = await visit.service.workers.read(visit.service.index.feedback)
    latest = feedback[::-1][:LISTED_FEEDBACK]
    return render(visit, "feedback.html", feedback=latest, count=len(feedback))


@router.get("/feedback/pairs.csv")
async def save_pairs(visit: ReadingVisit) -> Response:
    return await download_feedback_pairs(visit.service)


@router.get("/feedback/pages.jsonl")
async def save_pages(visit: ReadingVisit) -> Response:
    return await download_feedback_pages(visit.service)


@router.post("/feedback")
async def give(visit: WritingVisit) -> Response:
    """Save that a pair is, or is not, a duplicate."""
    form = await visit.form()
    a, b = _ids(form)
    answer, note = form.get("duplicate"), form.get("note", "")
    if answer not in ("yes", "no") or not isinstance(note, str):
        raise Problem(422, "invalid", "answer yes or no: are the two pages duplicates?")
    await visit.service.workers.write(
        save_feedback, visit.service.index, a, b, answer == "yes", note[:LONGEST_NOTE]
    )
    then = form.get("next")
    return RedirectResponse(own_path(then) if then else pair_path(a, b, done="saved"), 303)


@router.post("/feedback/take-back")
async def take_back(visit: WritingVisit) -> Response:
    a, b = _ids(await visit.form())
    if not await visit.service.workers.write(visit.service.index.take_back_feedback, a, b):
        raise not_found("no feedback on this pair")
    return RedirectResponse(pair_path(a, b, done="withdrawn"), 303)


def _ids(form: FormData) -> tuple[str, str]:
    a, b = form.get("a"), form.get("b")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise Problem(422, "invalid", "feedback needs the ids of two pages")
    return plain_id(a), plain_id(b)
