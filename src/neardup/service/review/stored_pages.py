"""One stored page: what is known of it, its text, and forgetting it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import RedirectResponse, Response

from neardup.index import Answer, Index, StoredPage
from neardup.index.contents import reasons
from neardup.model import Page
from neardup.service.problems import not_found
from neardup.service.records import LONGEST_ID, plain_id
from neardup.service.review.rendering import page_path, render
from neardup.service.review.visits import ReadingVisit, WritingVisit

router = APIRouter()
LONGEST_TEXT = 20_000  # characters that are shown


@dataclass(frozen=True)
class Shown:
    """A page as it is shown."""

    page: StoredPage
    content: Page | None
    reason: Answer


@router.get("/pages")
async def find(
    visit: ReadingVisit,
    id: Annotated[str, Query(max_length=LONGEST_ID)] = "",  # noqa: A002
) -> Response:
    """From a form with an id to the page."""
    return RedirectResponse(page_path(id.strip()) if id.strip() else "/", 303)


@router.get("/pages/{id:path}")
async def show(
    visit: ReadingVisit,
    id: Annotated[str, Path(min_length=1, max_length=LONGEST_ID)],  # noqa: A002
) -> Response:
    """A page that is stored."""
    found = await visit.service.workers.read(_look_at, visit.service.index, plain_id(id))
    text = found.content.text if found.content else None
    return render(visit, "page.html", found=found, text=text, longest=LONGEST_TEXT)


def _look_at(index: Index, id_: str) -> Shown:
    page = index.page(id_)
    if page is None:
        raise not_found("there is no page of that id in the index")
    why = index.store.read(lambda session: reasons(index.method, session, [id_]))
    return Shown(page, index.text(id_), why[id_])


@router.post("/forget")
async def forget(visit: WritingVisit) -> Response:
    """Forget a page, then show its cluster or the list."""
    form = await visit.form()
    id_ = form.get("id")
    if not isinstance(id_, str):
        raise not_found("there is no page of that id in the index")
    if not await visit.service.workers.write(visit.service.index.remove, plain_id(id_)):
        raise not_found("there is no page of that id in the index")
    return RedirectResponse("/clusters", 303)
