"""Reading the index: pages, clusters and their history; counts in total, by day and by host; and
why a page is in its cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Literal

import pyarrow as pa

from neardup.arrays import decompress
from neardup.errors import UsageError
from neardup.index.answers import (
    Answer,
    Change,
    Changes,
    ClusterSummary,
    Event,
    Feedback,
    StoredPage,
    cluster_name,
    cluster_number,
    micros,
    moment,
    stored_answers,
)
from neardup.index.features import stored_features
from neardup.index.sites import PageCounts, sites_of, survey_of_sites
from neardup.methods.base import Method, SurveyResults
from neardup.model import Cluster, Page, Relation, Verdict
from neardup.schemas import PAGES
from neardup.stores.records import ClusterRow, PageRow
from neardup.stores.session import Session
from neardup.stores.store import Store
from neardup.text.parse import pages_from
from neardup.text.tokens import search_words

Sort = Literal["size", "changed", "created"]
CLUSTERS_AT_ONCE = 1_000
MOST_WORDS = 40  # of a search over texts


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts over the whole index."""

    pages: int
    clusters: int
    duplicates: int  # pages that are not the first of their cluster
    undecided: int
    hosts: int
    pairs: dict[str, int]  # by relation
    feedback: int


def page(session: Session, id: str) -> StoredPage | None:  # noqa: A002
    """A stored page."""
    row = session.known([id]).get(id)
    return None if row is None else _stored_page(row)


def text(session: Session, id: str) -> Page | None:  # noqa: A002
    """A stored page with its text, if texts are kept."""
    row = session.known([id]).get(id)
    packed = session.content("texts", [row.number]) if row else {}
    return pages_from(decompress(PAGES, list(packed.values())))[0] if packed else None


def explain(method: Method, session: Session, a: str, b: str) -> Verdict:
    """The verdict on two stored pages."""
    rows = named_pages(session, a, b)
    features = stored_features(method, session)
    verdict = features.judge([rows[a].number], [rows[b].number]).to_pylist()[0]
    return Verdict(
        Relation(verdict["relation"]), verdict["similarity"], json.loads(verdict["evidence"])
    )


def weighed_texts(
    method: Method, session: Session, ids: Sequence[str]
) -> list[tuple[str, list[float]]]:
    """The texts of two stored pages, and what each line counts (`Method.line_weights`) as far as
    their sites are known; nothing if texts are not kept."""
    rows = named_pages(session, *ids)
    numbers = [rows[each].number for each in ids]
    packed = session.content("texts", numbers)
    if len(packed) < len(set(numbers)):
        return []
    batch = decompress(PAGES, [packed[number] for number in numbers])
    surveyed = SurveyResults()
    if (counts := method.site_counts) is not None:
        sites = sites_of(method, session, batch)
        others = PageCounts().of(counts, session, sorted({*sites.siblings()} - {*numbers}))
        surveyed = SurveyResults(survey_of_sites(counts, sites, batch, others)[0])
    return texts_with_weights(method, batch, surveyed)


def texts_with_weights(
    method: Method, pages: pa.RecordBatch, surveyed: SurveyResults
) -> list[tuple[str, list[float]]]:
    """The texts of two pages that are compared, and what each line counts."""
    host, *others = pages["host"].to_pylist()
    same_host = bool(host) and all(other == host for other in others)
    weights = method.line_weights(pages, surveyed, same_host=same_host)
    return list(zip(pages["text"].to_pylist(), weights.to_pylist(), strict=True))


def named_pages(session: Session, *ids: str) -> dict[str, PageRow]:
    """The pages with these ids; the error for a missing one names it."""
    rows = session.known(ids)
    for each in ids:
        if each not in rows:
            raise UsageError(f"there is no page {each!r} in the index")
    return rows


def follow(session: Session, name: str) -> ClusterRow | None:
    """The cluster with that name, or the one it was merged into."""
    number = cluster_number(name)
    row = None if number is None else session.cluster(number)
    while row is not None and row.moved_to is not None:
        row = session.cluster(row.moved_to)
    return row


def cluster(session: Session, name: str) -> Cluster | None:
    """The cluster that a name leads to; None if none of its pages is left."""
    row = follow(session, name)
    members = session.members([row.cluster]) if row else []
    return _cluster(members, row.kept) if row and members else None


def clusters(store: Store, smallest: int) -> Iterator[Cluster]:
    """Every cluster of at least this size, in order of creation."""
    after = 0
    while some := store.read(partial(_clusters_after, after=after, smallest=smallest)):
        yield from some.values()
        after = max(some)


def _clusters_after(session: Session, after: int, smallest: int) -> dict[int, Cluster]:
    """The next clusters, by number."""
    sql = (
        "SELECT cluster, kept FROM clusters WHERE cluster > ? AND size >= ? "
        "ORDER BY cluster LIMIT ?"
    )
    kept: dict[int, int | None] = dict(
        session.select(sql, after, max(smallest, 1), CLUSTERS_AT_ONCE)
    )
    by_cluster: dict[int, list[PageRow]] = {}
    for row in session.members(list(kept)):
        by_cluster.setdefault(row.cluster, []).append(row)
    return {number: _cluster(by_cluster[number], kept[number]) for number in sorted(by_cluster)}


def list_clusters(
    session: Session,
    smallest: int,
    host: str,
    search: str,
    since: datetime | None,
    sort: Sort,
    skip: int,
    most: int,
    *,
    search_text: bool = False,
) -> list[ClusterSummary]:
    """The clusters that match, largest or newest first."""
    if sort not in ("size", "changed", "created"):
        raise UsageError(
            f"clusters cannot be sorted by {sort!r}; there are: size, changed, created"
        )
    where, values = ["size >= ?"], [max(smallest, 1)]
    if since is not None:
        where.append("changed >= ?")
        values.append(micros(since))
    among, wanted = _pages_that_fit(host, search, in_texts=search_text)
    if among:
        where.append(f"cluster IN (SELECT cluster FROM pages WHERE {among})")
    order = "cluster" if sort == "created" else sort
    sql = (
        f"SELECT cluster, size, created, changed, kept FROM clusters WHERE {' AND '.join(where)} "
        f"ORDER BY {order} DESC, cluster DESC LIMIT ? OFFSET ?"
    )
    rows = session.select(sql, *values, *wanted, most, skip)
    kept = session.firsts_of([row[0] for row in rows])
    kept |= {cluster: number for cluster, *_, number in rows if number is not None}
    kept_of = {each.cluster: each for each in session.pages(sorted(kept.values())).values()}
    return [
        ClusterSummary(
            cluster_name(number),
            size,
            moment(created),
            moment(changed),
            kept_of[number].id,
            kept_of[number].title,
        )
        for number, size, created, changed, _ in rows
    ]


def _pages_that_fit(host: str, search: str, *, in_texts: bool) -> tuple[str, list[str]]:
    where, values = [], []
    if host:
        where.append("host = ?")
        values.append(host)
    if search:
        quoted = search.lower()
        for sign in "!%_":
            quoted = quoted.replace(sign, f"!{sign}")
        either = ["lower(id) LIKE ? ESCAPE '!'", "lower(title) LIKE ? ESCAPE '!'"]
        values += [f"%{quoted}%"] * 2
        if in_texts and (words := search_words(search)[:MOST_WORDS]):
            matches = "number IN (SELECT rowid FROM words WHERE words MATCH ?)"
            either.append(" AND ".join([matches] * len(words)))
            values += words
        where.append(f"({' OR '.join(either)})")
    return " AND ".join(where), values


def members(session: Session, name: str) -> list[StoredPage]:
    """The pages of a cluster in order of arrival."""
    row = follow(session, name)
    return [_stored_page(each) for each in session.members([row.cluster])] if row else []


def history(session: Session, name: str) -> list[Event]:
    """The events of a cluster, in order."""
    number = cluster_number(name)
    if number is None:
        return []
    return [
        Event(
            moment(row.at),
            cluster_name(row.cluster),
            row.kind,
            row.page,
            None if row.other is None else cluster_name(row.other),
        )
        for row in session.events(number)
    ]


def changes(session: Session, since: int, kinds: Sequence[str], most: int) -> Changes:
    """The changes after number `since`.

    Where there are no more of these kinds, `next` is behind the events of all kinds, so that they
    are not searched again.
    """
    rows = session.events_after(since, kinds, most + 1)
    more = len(rows) > most
    listed = [
        Change(
            number,
            moment(row.at),
            cluster_name(row.cluster),
            row.kind,
            row.page,
            None if row.other is None else cluster_name(row.other),
        )
        for number, row in rows[:most]
    ]
    end = listed[-1].number if more else max(session.latest_event(), since)
    return Changes(listed, end, more)


def stats(session: Session) -> Stats:
    """Counts over the whole index."""
    rows = session.select("SELECT count(*), count(DISTINCT host) FROM pages")
    pages, hosts = rows[0]
    alive = session.select("SELECT count(*) FROM clusters WHERE size > 0")
    undecided = session.select("SELECT count(*) FROM pages WHERE NOT decidable")
    said = session.select("SELECT count(*) FROM feedback")
    pairs = session.select("SELECT relation, count(*) FROM edges GROUP BY relation")
    return Stats(
        pages, alive[0][0], pages - alive[0][0], undecided[0][0], hosts, dict(pairs), said[0][0]
    )


def _cluster(rows: list[PageRow], kept: int | None) -> Cluster:
    ids = {row.number: row.id for row in rows}
    stands_for_it = ids.get(kept or 0, rows[0].id)
    return Cluster(cluster_name(rows[0].cluster), stands_for_it, tuple(ids.values()))


def _stored_page(row: PageRow) -> StoredPage:
    return StoredPage(
        row.id,
        row.url,
        row.host,
        row.title,
        cluster_name(row.cluster),
        None if row.time is None else moment(row.time),
        moment(row.added),
        moment(row.seen),
        row.size,
        row.length,
        not row.decidable,
    )


DAY = 86_400_000_000  # microseconds

# Each page with whether it is a duplicate: not the first of its cluster.
_MARKED = """pages JOIN (SELECT cluster AS of_cluster, min(number) AS first FROM pages
    GROUP BY cluster) AS firsts ON pages.cluster = of_cluster"""
_DUPLICATES = "sum(CASE WHEN number > first THEN 1 ELSE 0 END)"


@dataclass(frozen=True, slots=True)
class Day:
    """The pages that arrived on a day (UTC), and how many of them are duplicates now."""

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
    """The last days on which pages arrived, in order."""
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
    """The hosts, most duplicates first, then most pages."""
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
    """The feedback on pairs among these pages."""
    return [
        Feedback(row.a, row.b, row.duplicate, moment(row.at), row.note)
        for row in session.feedback(list(ids))
    ]


def word_on(store: Store, a: str, b: str) -> Feedback | None:
    """The feedback on two pages, if there is any."""
    feedback = store.read(lambda session: said_within(session, [a, b]))
    return feedback[0] if feedback and a != b else None
