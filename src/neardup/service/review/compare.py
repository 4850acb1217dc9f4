"""The form for any two pages: pasted, uploaded or stored, with every method's verdict."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from neardup.index import Index
from neardup.model import RawPage, Source
from neardup.pages.fields import to_bytes
from neardup.pages.urls import host
from neardup.service.comparing import ALL, Comparison, Side, compare
from neardup.service.problems import Problem
from neardup.service.records import BODY, plain_id
from neardup.service.review.rendering import render
from neardup.service.review.side_by_side import SideBySide, side_by_side
from neardup.service.review.visits import ReadingVisit, Visit

router = APIRouter()
KINDS = ("html", "text")


@dataclass(frozen=True)
class Compared:
    """The verdicts, and the two texts."""

    found: Comparison
    texts: SideBySide


@router.get("/compare")
async def form_page(visit: ReadingVisit) -> Response:
    """An empty form."""
    return render(visit, "compare.html", result=None, given={}, wrong="")


@router.post("/compare")
async def compare_pages(visit: ReadingVisit) -> Response:
    """Every method's verdict on two pages; nothing is stored."""
    form = await visit.form()
    given = {name: value for name, value in form.items() if isinstance(value, str)}
    try:
        sides = [await _side(visit, form, name) for name in ("a", "b")]
        result = await visit.service.workers.read(_compare, visit.service.index, *sides)
    except Problem as problem:
        if problem.status_code >= 500:
            raise
        wrong = str(problem.detail)
        page = render(
            visit, "compare.html", problem.status_code, result=None, given=given, wrong=wrong
        )
    else:
        page = render(visit, "compare.html", result=result, given=given, wrong="")
    await form.close()
    return page


def _compare(index: Index, a: Side, b: Side) -> Compared:
    found = compare(index, a, b, ALL)
    return Compared(found, side_by_side(*found.texts))


async def _side(visit: Visit, form: FormData, name: str) -> Side:
    """What was given for one side: a file, or pasted text, or an id, in this order."""
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
        raise Problem(422, "no-content", f"nothing was given for {name.upper()}")
    if not body:
        raise Problem(422, "empty", f"the content of {name.upper()} is empty")
    most = visit.service.settings.limits.page_bytes
    if len(body) > most:
        raise Problem(413, "too-large", f"a page may have {most:,} bytes")
    return RawPage(name, body, is_html, Source(BODY), address if host(address) else "")
