"""/v1/feedback: what people say of pairs. It goes before the method's verdict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from neardup.index import Feedback, Index
from neardup.index.contents import word_on
from neardup.pages.fields import format_time
from neardup.service.api import problems
from neardup.service.problems import Problem, not_found
from neardup.service.records import LONGEST_ID, FeedbackIn, plain_id
from neardup.service.service import READER, WRITER, Running

router = APIRouter(prefix="/v1/feedback", tags=["feedback"])

PairId = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]


@router.post("", responses=problems(404, 408, 413, 415), dependencies=[WRITER])
async def give(service: Running, given: FeedbackIn) -> Feedback:
    """Say that two stored pages are duplicates, or that they are not."""
    return await service.workers.write(
        give_feedback, service.index, given.a, given.b, given.duplicate, given.note
    )


def give_feedback(index: Index, a: str, b: str, duplicate: bool, note: str) -> Feedback:
    """Keep what was said, and give it back as it is kept."""
    a, b = sorted((plain_id(a), plain_id(b)))
    if a == b:
        raise Problem(422, "one-page", "feedback is about two pages, not one and the same")
    if any(index.page(each) is None for each in (a, b)):
        raise not_found("both pages must be in the index")
    index.give_feedback(a, b, duplicate=duplicate, note=plain_id(note))
    said = word_on(index.store, a, b)
    assert said is not None
    return said


@router.delete("", status_code=204, responses=problems(404), dependencies=[WRITER])
async def take_back(service: Running, a: PairId, b: PairId) -> None:
    """Let the method's verdict on a pair count again."""
    taken = await service.workers.write(service.index.take_back_feedback, plain_id(a), plain_id(b))
    if not taken:
        raise not_found("nothing was said of this pair")


@router.get("", responses=problems(), dependencies=[READER])
async def list_feedback(service: Running) -> list[Feedback]:
    """All that people have said, oldest first."""
    return await service.workers.read(service.index.feedback)


@router.get("/pairs.csv", responses=problems(), dependencies=[READER], response_class=Response)
async def pairs(service: Running) -> Response:
    """The pairs with their labels (a, b, label), as `neardup tune` and `evaluate` read them."""
    said = await service.workers.read(service.index.feedback)
    return download(labelled_pairs(said), "text/csv; charset=utf-8", "pairs.csv")


@router.get("/pages.jsonl", responses=problems(), dependencies=[READER], response_class=Response)
async def pages(service: Running) -> Response:
    """The texts of those pages: together with the pairs a labelled set."""
    content = await service.workers.read(labelled_pages, service.index)
    return download(content, "application/x-ndjson", "pages.jsonl")


def download(content: str, media_type: str, name: str) -> Response:
    """A file that a browser saves and does not show."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def labelled_pairs(said: list[Feedback]) -> str:
    """A CSV with a, b and label (duplicate or different)."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["a", "b", "label"])
    for each in said:
        writer.writerow([each.a, each.b, "duplicate" if each.duplicate else "different"])
    return file.getvalue()


def labelled_pages(index: Index) -> str:
    """A line of JSON for each page that somebody spoke of, if its text is kept."""
    ids = sorted({id_ for said in index.feedback() for id_ in (said.a, said.b)})
    return "".join(_page_lines(index, ids))


def _page_lines(index: Index, ids: list[str]) -> Iterator[str]:
    for id_ in ids:
        page = index.text(id_)
        if page is None:
            continue
        fields = {"id": page.id, "url": page.url, "title": page.title, "text": page.text}
        if page.time is not None:
            fields["time"] = format_time(page.time)
        yield json.dumps(fields, ensure_ascii=False) + "\n"
