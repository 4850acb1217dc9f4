"""What people have said of pairs: marking one, taking it back, and the list."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from neardup.service.api.feedback import (
    download,
    give_feedback,
    labelled_pages,
    labelled_pairs,
)
from neardup.service.problems import Problem, not_found
from neardup.service.records import plain_id
from neardup.service.review.rendering import pair_path, render
from neardup.service.review.visits import ReadingVisit, WritingVisit

router = APIRouter()
LONGEST_NOTE = 2_000
SHOWN = 500


@router.get("/feedback")
async def list_feedback(visit: ReadingVisit) -> Response:
    """All that was said, newest first."""
    said = await visit.service.workers.read(visit.service.index.feedback)
    return render(visit, "feedback.html", said=said[::-1][:SHOWN], count=len(said))


@router.get("/feedback/pairs.csv")
async def pairs(visit: ReadingVisit) -> Response:
    """The labelled pairs as a file."""
    said = await visit.service.workers.read(visit.service.index.feedback)
    return download(labelled_pairs(said), "text/csv; charset=utf-8", "pairs.csv")


@router.get("/feedback/pages.jsonl")
async def pages(visit: ReadingVisit) -> Response:
    """The pages of the labelled pairs as a file."""
    content = await visit.service.workers.read(labelled_pages, visit.service.index)
    return download(content, "application/x-ndjson", "pages.jsonl")


@router.post("/feedback")
async def give(visit: WritingVisit) -> Response:
    """A pair is, or is not, a duplicate."""
    form = await visit.form()
    a, b = _pair(form)
    word, note = form.get("duplicate"), form.get("note", "")
    if word not in ("yes", "no") or not isinstance(note, str):
        raise Problem(422, "invalid", "say whether the two pages are one to a reader")
    await visit.service.workers.write(
        give_feedback, visit.service.index, a, b, word == "yes", note[:LONGEST_NOTE]
    )
    return RedirectResponse(pair_path(a, b, done="said"), 303)


@router.post("/feedback/take-back")
async def take_back(visit: WritingVisit) -> Response:
    """What was said of a pair counts no longer."""
    a, b = _pair(await visit.form())
    if not await visit.service.workers.write(visit.service.index.take_back_feedback, a, b):
        raise not_found("nothing was said of this pair")
    return RedirectResponse(pair_path(a, b, done="back"), 303)


def _pair(form: FormData) -> tuple[str, str]:
    a, b = form.get("a"), form.get("b")
    if not (isinstance(a, str) and isinstance(b, str)):
        raise Problem(422, "invalid", "feedback is about two pages")
    return plain_id(a), plain_id(b)
