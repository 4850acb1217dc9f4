"""The list of clusters, and one cluster with its pages and why they belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from neardup.index import Answer, Event, Feedback, Index, StoredPage
from neardup.index.contents import Sort, reasons, said_within
from neardup.service.problems import not_found
from neardup.service.records import as_time, plain_id
from neardup.service.review.rendering import render
from neardup.service.review.visits import ReadingVisit

router = APIRouter()
AT_ONCE = 50
FARTHEST = 1_000_000_000
Skip = Annotated[int, Query(ge=0, le=FARTHEST)]
Text = Annotated[str, Query(max_length=300)]


@router.get("/clusters")
async def list_clusters(
    visit: ReadingVisit,
    search: Text = "",
    host: Text = "",
    smallest: Annotated[int, Query(ge=1, le=FARTHEST)] = 2,
    since: Text = "",
    sort: Sort = "size",
    skip: Skip = 0,
) -> Response:
    """Clusters that fit, some at a time."""
    found = await visit.service.workers.read(
        visit.service.index.list_clusters,
        smallest=smallest,
        host=plain_id(host).strip().lower(),
        search=plain_id(search).strip(),
        since=as_time(since.strip() or None),
        sort=sort,
        skip=skip,
        most=AT_ONCE + 1,
    )
    asked = {"search": search, "host": host, "smallest": smallest, "since": since, "sort": sort}
    return render(
        visit,
        "clusters.html",
        clusters=found[:AT_ONCE],
        asked=asked,
        skip=skip,
        earlier=f"/clusters?{urlencode({**asked, 'skip': max(skip - AT_ONCE, 0)})}" if skip else "",
        later=f"/clusters?{urlencode({**asked, 'skip': skip + AT_ONCE})}"
        if len(found) > AT_ONCE
        else "",
    )


@dataclass(frozen=True)
class Shown:
    """A cluster as its page shows it."""

    name: str
    size: int
    kept: StoredPage
    members: list[StoredPage]
    reasons: dict[str, Answer]
    said: list[Feedback]
    history: list[Event]


@router.get("/clusters/{name}")
async def show(
    visit: ReadingVisit, name: Annotated[str, Path(max_length=30)], skip: Skip = 0
) -> Response:
    """A cluster with its pages, some at a time."""
    found = await visit.service.workers.read(look_at, visit.service.index, name, skip)
    last = skip + AT_ONCE
    return render(
        visit,
        "cluster.html",
        cluster=found,
        asked=name,
        skip=skip,
        earlier=f"/clusters/{found.name}?skip={max(skip - AT_ONCE, 0)}" if skip else "",
        later=f"/clusters/{found.name}?skip={last}" if found.size > last else "",
    )


def look_at(index: Index, name: str, skip: int) -> Shown:
    """The cluster of that name, with the reasons of the members shown."""
    members = index.members(name)
    if not members:
        raise not_found("there is no cluster of that name")
    shown = members[skip : skip + AT_ONCE]
    ids = [member.id for member in shown]
    now = members[0].cluster
    return Shown(
        now,
        len(members),
        members[0],
        shown,
        index.store.read(lambda session: reasons(index.method, session, ids)),
        index.store.read(lambda session: said_within(session, [page.id for page in members])),
        index.history(now)[-AT_ONCE:],
    )
