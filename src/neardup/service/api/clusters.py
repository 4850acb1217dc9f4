"""/v1/clusters, pages a reader would consider the same, and /v1/feedback, decisions by people."""

from __future__ import annotations

import csv
import io
import json
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from neardup.index import Changes, Feedback, Index, StoredPage
from neardup.index.contents import Sort, word_on
from neardup.model import Cluster
from neardup.pages.fields import format_time
from neardup.service.problems import Problem, not_found
from neardup.service.records import (
    LONGEST_ID,
    ClusterList,
    ClusterOut,
    FeedbackIn,
    as_time,
    body_of,
    plain_id,
    validated,
)
from neardup.service.service import Running, for_readers, for_writers, read_json, service_of

router = APIRouter(prefix="/v1", tags=["clusters"])
feedback_router = APIRouter(prefix="/v1/feedback", tags=["feedback"])

FARTHEST = 1_000_000_000
LONGEST_HISTORY = 1_000  # the latest events
KINDS = "any of created, merged, split, joined, left, removed, kept; with commas"
Skip = Annotated[int, Query(ge=0, le=FARTHEST, description="how many to skip")]
Most = Annotated[int, Query(alias="limit", ge=1, le=1_000, description="how many to return")]
PairId = Annotated[str, Query(min_length=1, max_length=LONGEST_ID)]


@router.get("/clusters", **for_readers())
async def list_clusters(
    service: Running,
    smallest: Annotated[int, Query(ge=1, le=FARTHEST, description="the least number of pages")] = 2,
    host: Annotated[str, Query(description="with a page on this host", max_length=300)] = "",
    search: Annotated[str, Query(description="words in ids and titles", max_length=300)] = "",
    since: Annotated[str | None, Query(description="changed since this time, ISO 8601")] = None,
    sort: Annotated[Sort, Query(description="by size, last change or age")] = "size",
    skip: Skip = 0,
    most: Most = 50,
) -> ClusterList:
    """List clusters, the largest or newest first."""
    clusters = await service.workers.read(
        service.index.list_clusters,
        smallest=smallest,
        host=plain_id(host),
        search=plain_id(search),
        since=as_time(since),
        sort=sort,
        skip=skip,
        most=most + 1,
    )
    return ClusterList(clusters=clusters[:most], next=skip + most if len(clusters) > most else None)


@router.get("/clusters/{name}", **for_readers(404))
async def get_cluster(
    service: Running, name: Annotated[str, Path(max_length=30)], skip: Skip = 0, most: Most = 100
) -> ClusterOut:
    """Get a cluster with its pages. A name from before a merge finds the merged cluster."""
    return await service.workers.read(_cluster, service.index, name, skip, most)


def stored_cluster(index: Index, name: str) -> tuple[Cluster, list[StoredPage]]:
    """A cluster, and its pages in the order they were added."""
    cluster, members = index.cluster(name), index.members(name)
    if cluster is None or not members:
        raise not_found("no cluster with that name in the index")
    return cluster, members


def _cluster(index: Index, name: str, skip: int, most: int) -> ClusterOut:
    cluster, members = stored_cluster(index, name)
    now = members[0].cluster
    return ClusterOut(
        name=now,
        size=len(members),
        kept=cluster.kept,
        members=members[skip : skip + most],
        next=skip + most if len(members) > skip + most else None,
        history=index.history(now)[-LONGEST_HISTORY:],
    )


@router.get("/changes", **for_readers())
async def list_changes(
    service: Running,
    since: Annotated[
        int, Query(ge=0, le=FARTHEST, description="`next` of the last answer; 0: all")
    ] = 0,
    kinds: Annotated[str, Query(description=KINDS, max_length=100)] = "created,merged,split",
    most: Most = 100,
) -> Changes:
    """List what happened to clusters, in order: a feed to follow.

    Every change has a number; numbers grow, and no change is ever put before one already listed.
    """
    names = [name.strip() for name in kinds.split(",")]
    return await service.workers.read(service.index.changes, since, kinds=names, most=most)


_BODY = body_of(FeedbackIn.model_json_schema())


@feedback_router.post("", openapi_extra=_BODY, **for_writers(404, 408, 413, 415))
async def give_feedback(request: Request) -> Feedback:
    """Mark two stored pages as duplicates or as different. This overrides the method."""
    service = service_of(request)
    feedback = await read_json(request, partial(validated, FeedbackIn))
    return await service.workers.write(save_feedback, service.index, **feedback.model_dump())


def save_feedback(index: Index, a: str, b: str, duplicate: bool, note: str) -> Feedback:
    """Save the feedback and return it as it is stored."""
    a, b = sorted((plain_id(a), plain_id(b)))
    if a == b:
        raise Problem(422, "one-page", "feedback needs two different pages")
    if any(index.page(each) is None for each in (a, b)):
        raise not_found("both pages must be in the index")
    index.give_feedback(a, b, duplicate=duplicate, note=plain_id(note))
    stored = word_on(index.store, a, b)
    assert stored is not None
    return stored


@feedback_router.delete("", status_code=204, **for_writers(404))
async def withdraw_feedback(service: Running, a: PairId, b: PairId) -> None:
    """Withdraw the feedback on a pair, so that the method decides again."""
    withdrawn = await service.workers.write(
        service.index.take_back_feedback, plain_id(a), plain_id(b)
    )
    if not withdrawn:
        raise not_found("no feedback on this pair")


@feedback_router.get("", **for_readers())
async def list_feedback(service: Running) -> list[Feedback]:
    """List all feedback, oldest first."""
    return await service.workers.read(service.index.feedback)


@feedback_router.get("/pairs.csv", response_class=Response, **for_readers())
async def download_feedback_pairs(service: Running) -> Response:
    """Download the labelled pairs (a, b, label) for `neardup tune` and `neardup evaluate`."""
    pairs = labelled_pairs(await service.workers.read(service.index.feedback))
    return download(pairs, "text/csv; charset=utf-8", "pairs.csv")


@feedback_router.get("/pages.jsonl", response_class=Response, **for_readers())
async def download_feedback_pages(service: Running) -> Response:
    """Download the texts of those pages; with the pairs they make a labelled set."""
    content = await service.workers.read(labelled_pages, service.index)
    return download(content, "application/x-ndjson", "pages.jsonl")


def download(content: str, media_type: str, name: str) -> Response:
    """A file that a browser saves instead of showing it."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def labelled_pairs(feedback: list[Feedback]) -> str:
    """A CSV with a, b and label (duplicate or different)."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["a", "b", "label"])
    for each in feedback:
        writer.writerow([each.a, each.b, "duplicate" if each.duplicate else "different"])
    return file.getvalue()


def labelled_pages(index: Index) -> str:
    """A line of JSON for each page with feedback whose text is kept."""
    lines = []
    for id_ in sorted({id_ for pair in index.feedback() for id_ in (pair.a, pair.b)}):
        page = index.text(id_)
        if page is None:
            continue
        fields = {"id": page.id, "url": page.url, "title": page.title, "text": page.text}
        if page.time is not None:
            fields["time"] = format_time(page.time)
        lines.append(json.dumps(fields, ensure_ascii=False) + "\n")
    return "".join(lines)
