"""Counts over time and by host, against counting by hand; SQLite and PostgreSQL alike."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from neardup import Index, html_page
from neardup.index.answers import micros
from neardup.index.contents import Day, Host, by_day, by_host, reasons, said_within, word_on
from sample_pages import long_html

pytestmark = pytest.mark.xdist_group("postgres")
FIRST = datetime(2024, 2, 27, 23, 30, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgres"])
def index(request: pytest.FixtureRequest) -> Any:
    """Nine pages on three hosts over three days, across the end of a day and of a February."""
    url = "memory://"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").store_url()
    hours = iter([0, 0, 0.6, 1, 24, 24, 48, 48, 49])
    with Index.open(url) as made:
        for number, topic in enumerate(["harbour", "railway", "orchard"] * 3):
            moment = FIRST + timedelta(hours=next(hours))
            made.clock = partial(micros, moment)
            address = f"http://host{number % 2}.example/{number}"
            made.add(html_page(long_html(topic, edited=number > 2), id=f"p{number}", url=address))
        yield made


def test_days(index: Index) -> None:
    assert index.store.read(by_day) == [
        Day(date(2024, 2, 27), 2, 0),
        Day(date(2024, 2, 28), 4, 3),
        Day(date(2024, 2, 29), 2, 2),
        Day(date(2024, 3, 1), 1, 1),
    ]
    assert [day.pages for day in index.store.read(lambda session: by_day(session, 2))] == [2, 1]


def test_hosts(index: Index) -> None:
    found = index.store.read(by_host)
    duplicates: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    for cluster in index.clusters():
        for member in cluster.members:
            host = f"host{int(member[1:]) % 2}.example"
            pages[host] += 1
            duplicates[host] += member != cluster.kept
    assert {each.host: each for each in found} == {
        host: Host(host, pages[host], duplicates[host]) for host in pages
    }
    assert found[0].duplicates >= found[1].duplicates


def test_reasons_and_words(index: Index) -> None:
    ids = ["p0", "p3", "p6"]
    why = index.store.read(lambda session: reasons(index.method, session, ids))
    assert sorted(why) == ids
    assert why["p0"].of is None
    assert why["p3"].of == "p0"
    assert why["p6"].evidence["why"]
    assert word_on(index.store, "p0", "p3") is None
    index.give_feedback("p3", "p0", duplicate=False, note="no")
    said = word_on(index.store, "p3", "p0")
    assert said is not None
    assert (said.a, said.b, said.duplicate) == ("p0", "p3", False)
    assert index.store.read(lambda session: said_within(session, ids)) == [said]
    assert word_on(index.store, "p0", "p0") is None
