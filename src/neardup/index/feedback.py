"""Feedback: people's decisions on pairs, which override the method's verdicts."""

from __future__ import annotations

from neardup.errors import UsageError
from neardup.index.answers import Feedback, moment
from neardup.index.candidates import BOUNDS, Bounds
from neardup.index.contents import named_pages
from neardup.index.features import stored_features
from neardup.index.groups import group_pages
from neardup.index.kept import choose_pages
from neardup.index.names import name_clusters
from neardup.methods.base import Method
from neardup.stores.records import FeedbackRow, PageRow
from neardup.stores.session import Session


def give(method: Method, session: Session, row: FeedbackRow, bounds: Bounds = BOUNDS) -> None:
    """Store feedback and recluster the two pages."""
    if row.a == row.b:
        raise UsageError("feedback needs two different pages")
    rows = named_pages(session, row.a, row.b)
    first, second = sorted((row.a, row.b))
    session.put_feedback(row._replace(a=first, b=second))
    _cluster_anew(method, session, rows, row.at, bounds)


def take_back(
    method: Method, session: Session, a: str, b: str, at: int, bounds: Bounds = BOUNDS
) -> bool:
    """Delete feedback and recluster the two pages; False if there was none."""
    first, second = sorted((a, b))
    if not session.feedback([first, second]):
        return False
    session.drop_feedback(first, second)
    _cluster_anew(method, session, session.known([a, b]), at, bounds)
    return True


def everything(session: Session) -> list[Feedback]:
    """All feedback, oldest first."""
    return [
        Feedback(row.a, row.b, row.duplicate, moment(row.at), row.note)
        for row in session.feedback()
    ]


def _cluster_anew(
    method: Method, session: Session, rows: dict[str, PageRow], at: int, bounds: Bounds
) -> None:
    """Recluster two pages and their components."""
    features = stored_features(method, session)
    groups, others = group_pages(
        method,
        session,
        {row.number: row for row in rows.values()},
        [],
        void=set(),
        gone=set(),
        judge=features.relations,
        bounds=bounds,
    )
    naming = name_clusters(session, groups, others, at)
    naming.apply(session)
    choose_pages(session, naming.changed, naming, bounds)
