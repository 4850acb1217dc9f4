"""The overview, the list of clusters, a cluster with the reason each page belongs to it, a page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from starlette.responses import RedirectResponse, Response

from neardup.index import Answer, ClusterSummary, Event, Feedback, Index, StoredPage
from neardup.index.contents import Day, Host, Sort, Stats, by_day, by_host, reasons, said_within
from neardup.report.templates import percent
from neardup.service.api.clusters import FARTHEST, Skip, stored_cluster
from neardup.service.api.pages import NO_PAGE, stored_page
from neardup.service.problems import not_found
from neardup.service.records import LONGEST_ID, as_time, plain_id
from neardup.service.review.visits import (
    RELATIONS,
    ReadingVisit,
    Visit,
    WritingVisit,
    page_path,
    render,
)

router = APIRouter()
AT_ONCE = 50
LONGEST_TEXT = 20_000  # characters that are shown
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
    """The clusters that match, some at a time."""
    clusters = await visit.service.workers.read(
        visit.service.index.list_clusters,
        smallest=smallest,
        host=plain_id(host).strip().lower(),
        search=plain_id(search).strip(),
        since=as_time(since.strip() or None),
        sort=sort,
        skip=skip,
        most=AT_ONCE + 1,
    )
    query = {"search": search, "host": host, "smallest": smallest, "since": since, "sort": sort}
    previous = f"/clusters?{urlencode({**query, 'skip': max(skip - AT_ONCE, 0)})}"
    following = f"/clusters?{urlencode({**query, 'skip': skip + AT_ONCE})}"
    return render(
        visit,
        "clusters.html",
        clusters=clusters[:AT_ONCE],
        query=query,
        skip=skip,
        previous=previous if skip else "",
        next=following if len(clusters) > AT_ONCE else "",
    )


@dataclass(frozen=True)
class ClusterView:
    name: str
    size: int
    kept: StoredPage
    members: list[StoredPage]
    reasons: dict[str, Answer]
    feedback: list[Feedback]
    history: list[Event]


@router.get("/clusters/{name}")
async def show_cluster(
    visit: ReadingVisit, name: Annotated[str, Path(max_length=30)], skip: Skip = 0
) -> Response:
    """A cluster with its pages, some at a time."""
    cluster = await visit.service.workers.read(_cluster, visit.service.index, name, skip)
    last = skip + AT_ONCE
    return render(
        visit,
        "cluster.html",
        cluster=cluster,
        old_name=name if name != cluster.name else "",
        previous=f"/clusters/{cluster.name}?skip={max(skip - AT_ONCE, 0)}" if skip else "",
        next=f"/clusters/{cluster.name}?skip={last}" if cluster.size > last else "",
    )


def _cluster(index: Index, name: str, skip: int) -> ClusterView:
    cluster, members = stored_cluster(index, name)
    shown = members[skip : skip + AT_ONCE]
    ids = [member.id for member in shown]
    current_name = members[0].cluster
    return ClusterView(
        current_name,
        len(members),
        next((page for page in members if page.id == cluster.kept), members[0]),
        shown,
        index.store.read(lambda session: reasons(index.method, session, ids)),
        index.store.read(lambda session: said_within(session, [page.id for page in members])),
        index.history(current_name)[-AT_ONCE:],
    )


@router.get("/pages")
async def find_page(
    visit: ReadingVisit,
    id: Annotated[str, Query(max_length=LONGEST_ID)] = "",  # noqa: A002
) -> Response:
    """Redirect from the form with an id to the page."""
    return RedirectResponse(page_path(id.strip()) if id.strip() else "/", 303)


@router.get("/pages/{id:page_id}")
async def show_page(
    visit: ReadingVisit,
    id: Annotated[str, Path(min_length=1, max_length=LONGEST_ID)],  # noqa: A002
) -> Response:
    """A stored page: what is known about it, and its text."""
    page, reason, text = await visit.service.workers.read(_page, visit.service.index, plain_id(id))
    return render(visit, "page.html", page=page, reason=reason, text=text, longest=LONGEST_TEXT)


def _page(index: Index, id_: str) -> tuple[StoredPage, Answer, str | None]:
    """The page, why it is in its cluster, and its text if the store keeps texts."""
    page = stored_page(index, id_)
    why = index.store.read(lambda session: reasons(index.method, session, [id_]))
    content = index.text(id_)
    return page, why[id_], content.text if content else None


@router.post("/remove")
async def remove(visit: WritingVisit) -> Response:
    """Remove a page from the index, then show the clusters."""
    id_ = plain_id(str((await visit.form()).get("id", "")))
    if not await visit.service.workers.write(visit.service.index.remove, id_):
        raise not_found(NO_PAGE)
    return RedirectResponse("/clusters", 303)


FRESH_SECONDS = 20.0  # counts over all pages are cached this long
NEWEST = 8


@dataclass(frozen=True)
class Findings:
    stats: Stats
    days: list[Day]
    hosts: list[Host]
    newest: list[ClusterSummary]


class FindingsCache:
    """Findings that are reused while they are fresh."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = Lock()
        self._findings: Findings | None = None
        self._at = 0.0

    def findings(self) -> Findings:
        """What the index holds, at most `FRESH_SECONDS` old."""
        with self._lock:
            if self._findings is None or time.monotonic() - self._at > FRESH_SECONDS:
                index = self._index
                self._findings = Findings(
                    index.stats(),
                    index.store.read(by_day),
                    index.store.read(by_host),
                    index.list_clusters(sort="changed", most=NEWEST),
                )
                self._at = time.monotonic()
            return self._findings


@router.get("/")
async def overview(visit: ReadingVisit) -> Response:
    cache: FindingsCache = visit.request.app.state.findings
    findings = await visit.service.workers.read(cache.findings)
    return render(
        visit,
        "overview.html",
        findings=findings,
        method=visit.service.index.method.name,
        relations=_relation_bars(visit, findings.stats),
    )


def _relation_bars(visit: Visit, stats: Stats) -> list[tuple[str, int, str]]:
    """Judged pairs by relation: label, count and share."""
    total = sum(stats.pairs.values())
    t = visit.translate
    return [
        (t(words), stats.pairs[relation], percent(stats.pairs[relation], total, t))
        for relation, words in RELATIONS.items()
        if stats.pairs.get(relation)
    ]
