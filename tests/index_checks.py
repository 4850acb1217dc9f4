"""Is an index whole? Every part of the store against every other, page by page."""

from __future__ import annotations

from collections import Counter

import numpy as np

from neardup.index import Index
from neardup.index.candidates import keys_of, read_features
from neardup.stores.session import Session


def groups(index: Index) -> set[frozenset[str]]:
    """The clusters as sets of ids: names aside."""
    return {frozenset(cluster.members) for cluster in index.clusters()}


def check_whole(index: Index) -> set[str]:
    """No page is half there, no row is left over; gives the ids of the pages."""
    return index.store.read(lambda session: _check(index, session))


def stored_keys(session: Session) -> list[tuple[int, int]]:
    """Each key with each page that has it, in the table and in the log, once."""
    both = [*session.select("SELECT key, number FROM sorted_keys"), *session._keys().entries()]
    assert len({*both}) == len(both)
    return [(key, number) for key, number in both]


def _check(index: Index, session: Session) -> set[str]:
    rows = session.pages_after(0, 10**9)
    numbers = [row.number for row in rows]
    assert len({row.id for row in rows}) == len(rows)
    assert sorted(session.content("features", numbers)) == numbers
    assert _counted(session, "features") == len(numbers)
    if index.keep_text:
        assert sorted(session.content("texts", numbers)) == numbers
        assert _counted(session, "texts") == len(numbers)
    described, features = read_features(index.method, session, numbers)
    keys = keys_of(index.method, features, np.array(described, np.int64))
    expected = set(keys.entries())
    stored = set(stored_keys(session))
    assert stored <= expected
    pages_of = Counter(key for key, _ in expected)
    dropped = [key for key, _ in expected - stored]
    assert all(pages_of[key] > index.bounds.hot for key in dropped)  # entries of hot keys
    known = set(numbers)
    for a, b in session.select("SELECT a, b FROM edges"):
        assert a in known
        assert b in known
    for (number,) in session.select("SELECT number FROM sites"):
        assert number in known
    sizes = Counter(row.cluster for row in rows)
    told = session.select("SELECT cluster, size FROM clusters WHERE size > 0")
    assert dict(map(tuple, told)) == dict(sizes)
    return {row.id for row in rows}


def _counted(session: Session, table: str) -> object:
    return session.select(f"SELECT count(*) FROM {table}")[0][0]
