"""What the review pages ask beside the index's own verbs: counts over time and by host, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from neardup.index.answering import stored_answers
from neardup.index.answers import Answer, Feedback, moment
from neardup.methods.base import Method
from neardup.stores.session import Session
from neardup.stores.store import Store

DAY = 86_400_000_000  # microseconds

# Each page with whether it is a duplicate: not the first of its cluster.
_MARKED = """pages JOIN (SELECT cluster AS of_cluster, min(number) AS first FROM pages
    GROUP BY cluster) AS firsts ON pages.cluster = of_cluster"""
_DUPLICATES = "sum(CASE WHEN number > first THEN 1 ELSE 0 END)"


@dataclass(frozen=True, slots=True)
class Day:
    """The pages that came on a day (UTC), and how many of them are duplicates now."""

    day: date
    pages: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Host:
    """The pages of a host, and how many of them are duplicates."""

    host: str
    pages: int
    duplicates: int


def by_day(session: Session, most: int = 60) -> list[Day]:
    """The last days on which pages came, in order."""
    sql = (
        f"SELECT added / {DAY}, count(*), {_DUPLICATES} FROM {_MARKED} "
        f"GROUP BY added / {DAY} ORDER BY added / {DAY} DESC LIMIT ?"
    )
    rows: list[Any] = session.select(sql, most)
    return [
        Day(datetime.fromtimestamp(day * DAY / 1e6, UTC).date(), pages, int(duplicates))
        for day, pages, duplicates in reversed(rows)
    ]


def by_host(session: Session, most: int = 12) -> list[Host]:
    """The hosts with most duplicates, then those with most pages."""
    sql = (
        f"SELECT host, count(*), {_DUPLICATES} FROM {_MARKED} WHERE host <> '' "
        f"GROUP BY host ORDER BY {_DUPLICATES} DESC, count(*) DESC, host LIMIT ?"
    )
    rows: list[Any] = session.select(sql, most)
    return [Host(host, pages, int(duplicates)) for host, pages, duplicates in rows]


def reasons(method: Method, session: Session, ids: Sequence[str]) -> dict[str, Answer]:
    """Why each of these stored pages is in its cluster, by id: the page it is closest to."""
    return stored_answers(method, session, list(session.known(ids).values()))


def said_within(session: Session, ids: Sequence[str]) -> list[Feedback]:
    """What people have said of pairs among these pages."""
    return [
        Feedback(row.a, row.b, row.duplicate, moment(row.at), row.note)
        for row in session.feedback(list(ids))
    ]


def word_on(store: Store, a: str, b: str) -> Feedback | None:
    """What a person has said of two pages, if anyone has."""
    found = store.read(lambda session: said_within(session, [a, b]))
    return found[0] if found and a != b else None
