"""The first page: what the index holds, over time, by host and by relation."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock

from fastapi import APIRouter
from starlette.responses import Response

from neardup.index import ClusterSummary, Index
from neardup.index.contents import Day, Host, Stats, by_day, by_host
from neardup.report.templates import percent
from neardup.service.review.rendering import RELATIONS, render
from neardup.service.review.visits import ReadingVisit, Visit

router = APIRouter()
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
                self._findings, self._at = _find(self._index), time.monotonic()
            return self._findings


def _find(index: Index) -> Findings:
    return Findings(
        index.stats(),
        index.store.read(by_day),
        index.store.read(by_host),
        index.list_clusters(sort="changed", most=NEWEST),
    )


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
    return [
        (visit.translate(words), stats.pairs[relation], percent(stats.pairs[relation], total))
        for relation, words in RELATIONS.items()
        if stats.pairs.get(relation)
    ]
