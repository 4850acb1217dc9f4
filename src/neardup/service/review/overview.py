"""Pages and duplicates over time: columns, a day each.

The first page: what the index holds, over time, by host and by relation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

from fastapi import APIRouter
from markupsafe import Markup, escape
from starlette.responses import Response

from neardup.index import ClusterSummary, Index
from neardup.index.contents import Day, Host, Stats, by_day, by_host
from neardup.report.charts import Bar, bar_chart, proportions
from neardup.report.figures import percent
from neardup.service.review.rendering import RELATIONS, render
from neardup.service.review.visits import ReadingVisit, Visit

HEIGHT, WIDTH = 40.0, 100.0


def day_chart(days: Sequence[Day], translate: Callable[..., str]) -> Markup:
    """A column a day, its lower part the duplicates; what it says is in its label, too."""
    most = max((day.pages for day in days), default=0) or 1
    step = WIDTH / max(len(days), 12)
    columns = Markup("").join(
        _column(day, place * step, step, most) for place, day in enumerate(days)
    )
    told = "; ".join(
        translate(
            "{day}: {pages} pages, {duplicates} of them duplicates",
            day=day.day,
            pages=f"{day.pages:,}",
            duplicates=f"{day.duplicates:,}",
        )
        for day in days[-14:]
    )
    return Markup(
        '<svg class="days" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img" '
        'aria-label="{}"><path class="grid" d="M0 0H100M0 20H100"/>{}'
        '<path class="axis" d="M0 40H100"/></svg>'
    ).format(WIDTH, HEIGHT, told, columns)


def _column(day: Day, left: float, step: float, most: int) -> Markup:
    title = escape(f"{day.day}: {day.pages:,} / {day.duplicates:,}")
    return Markup("<g><title>{}</title>{}{}</g>").format(
        title,
        _rect("kept", left, step, 0, day.pages, most),
        _rect("joined", left, step, 0, day.duplicates, most),
    )


def _rect(kind: str, left: float, step: float, base: int, value: int, most: int) -> Markup:
    if not value:
        return Markup("")
    height = max(HEIGHT * value / most, 0.4)
    return Markup('<rect class="{}" x="{:.3f}" y="{:.3f}" width="{:.3f}" height="{:.3f}"/>').format(
        kind, left + step * 0.12, HEIGHT - height - base, step * 0.76, height
    )


router = APIRouter()
FRESH_SECONDS = 20.0  # counts over all pages are taken this seldom
NEWEST = 8


@dataclass(frozen=True)
class Findings:
    """Counts at one moment."""

    stats: Stats
    days: list[Day]
    hosts: list[Host]
    newest: list[ClusterSummary]


class Kept:
    """Findings that are looked at again while they are fresh."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = Lock()
        self._found: Findings | None = None
        self._at = 0.0

    def findings(self) -> Findings:
        """What the index holds, as it was at most some seconds ago."""
        with self._lock:
            if self._found is None or time.monotonic() - self._at > FRESH_SECONDS:
                self._found, self._at = _find(self._index), time.monotonic()
            return self._found


def _find(index: Index) -> Findings:
    return Findings(
        index.stats(),
        index.store.read(by_day),
        index.store.read(by_host),
        index.list_clusters(sort="changed", most=NEWEST),
    )


@router.get("/")
async def overview(visit: ReadingVisit) -> Response:
    """What the index holds."""
    kept: Kept = visit.request.app.state.kept
    found = await visit.service.workers.read(kept.findings)
    return render(
        visit,
        "overview.html",
        found=found,
        method=visit.service.index.method.name,
        shares=_shares(visit, found.stats),
        days=day_chart(found.days, visit.translate) if found.days else None,
        relations=_relations(visit, found.stats),
    )


def _shares(visit: Visit, stats: Stats) -> Markup:
    t = visit.translate
    parts = [
        (t("Pages to keep"), stats.clusters, "kept"),
        (t("Duplicates"), stats.duplicates, "joined"),
    ]
    return Markup(proportions(t("Pages to keep and pages that repeat them"), parts))


def _relations(visit: Visit, stats: Stats) -> Markup:
    """Judged pairs by relation; the chart escapes its own words."""
    t = visit.translate
    total = sum(stats.pairs.values())
    bars = [
        Bar(t(words), stats.pairs[relation], percent(stats.pairs[relation], total))
        for relation, words in RELATIONS.items()
        if stats.pairs.get(relation)
    ]
    headings = str(escape(t("Relation"))), str(escape(t("Pairs"))), str(escape(t("Share")))
    return (
        Markup(bar_chart(t("Pairs with something in common"), headings, bars))
        if bars
        else Markup("")
    )
