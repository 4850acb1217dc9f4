"""Two stored pages side by side, with the verdict on them and what people say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from neardup.index import Feedback, Index, StoredPage
from neardup.index.contents import word_on
from neardup.model import Verdict
from neardup.service.comparing import ALL, compare
from neardup.service.problems import Problem, not_found
from neardup.service.records import LONGEST_ID, plain_id
from neardup.service.review.evidence import told
from neardup.service.review.rendering import render
from neardup.service.review.side_by_side import SideBySide, side_by_side
from neardup.service.review.visits import ReadingVisit

router = APIRouter()
Id = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]


@dataclass(frozen=True)
class Shown:
    """A pair as its page shows it."""

    a: StoredPage
    b: StoredPage
    verdict: Verdict
    said: Feedback | None
    texts: SideBySide | None
    all_verdicts: dict[str, Verdict]


@router.get("/pair")
async def show(
    visit: ReadingVisit,
    a: Id,
    b: Id,
    methods: Annotated[str, Query(max_length=10)] = "",
    done: Annotated[str, Query(max_length=10)] = "",
) -> Response:
    """Two pages, what they share, and the verdict."""
    ids = plain_id(a), plain_id(b)
    found = await visit.service.workers.read(_look_at, visit.service.index, *ids, methods == ALL)
    return render(
        visit,
        "pair.html",
        pair=found,
        method=visit.service.index.method.name,
        evidence=told(found.verdict.evidence, visit.translate),
        done=done,
    )


def _look_at(index: Index, a: str, b: str, with_all: bool) -> Shown:
    if a == b:
        raise Problem(422, "one-page", "a pair is two pages, not one and the same")
    pages = index.page(a), index.page(b)
    if pages[0] is None or pages[1] is None:
        raise not_found("both pages must be in the index")
    left, right = index.text(a), index.text(b)
    kept = left is not None and right is not None
    return Shown(
        pages[0],
        pages[1],
        index.explain(a, b),
        word_on(index.store, a, b),
        side_by_side(left.text, right.text) if left and right else None,
        compare(index, a, b, ALL).verdicts if with_all and kept else {},
    )
