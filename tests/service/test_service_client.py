"""The typed client against a real service, and its patience against a made-up one."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import httpx
import pytest

from neardup import Relation, html_page, text_page
from neardup.model import RawPage, Source
from neardup.service.client import Client, ServiceError
from sample_pages import html, long_html
from service_process import READ, WRITE, Service


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(service.url, timeout=400) as made:
        yield made


def test_the_verbs_of_the_index(client: Client) -> None:
    pages = [
        html_page(long_html("渡口"), id="client/1", url="http://c1.example/"),
        html_page(long_html("渡口", edited=True), id="client/2", url="http://c2.example/"),
    ]
    assert not client.query(pages[0]).known
    first, second = client.add_many(pages)
    assert (first.duplicate, second.duplicate, second.of) == (False, True, "client/1")
    assert second.relation is Relation.NEAR
    assert client.add(pages[0]).known
    assert [answer.known for answer in client.query_many(pages)] == [True, True]
    stored = client.page("client/1")
    assert stored is not None
    assert stored.added.tzinfo is not None
    assert [page.id for page in client.members(stored.cluster)] == ["client/1", "client/2"]
    assert client.history(stored.cluster)[0].kind == "created"
    assert stored.cluster in {cluster.name for cluster in client.clusters(search="client/1")}
    assert client.page("nowhere") is None
    assert client.members("c99999") == []
    assert "渡口" in (client.text("client/1") or "")
    verdicts = client.compare("client/1", "client/2", method="all")
    assert verdicts["own-text"].relation is Relation.NEAR
    assert client.compare(pages[0], "client/1")["own-text"].relation is Relation.SAME
    assert client.stats()["pages"] >= 2
    assert client.is_ready()
    said = client.give_feedback("client/1", "client/2", duplicate=False, note="note")
    assert said in client.feedback()
    assert "client/1,client/2,different" in client.labelled_pairs()
    assert client.take_back_feedback("client/1", "client/2")
    assert not client.take_back_feedback("client/1", "client/2")
    assert client.remove("client/2")
    assert not client.remove("client/2")


@pytest.mark.parametrize("sign", ["\n", "\r\n", "\x85", "\u2028", "\0", "/", "%0A"])
def test_ids_of_any_signs(client: Client, sign: str) -> None:
    for id_ in (f"two{sign}parts", f"an end{sign}"):
        [answer] = client.add_many([html_page(html("ferry"), id=id_)])
        stored = client.page(id_)
        assert stored is not None
        assert stored.id == answer.id
        assert client.remove(id_)
        assert not client.remove(id_)


def test_pages_keep_charset_time_and_title(client: Client) -> None:
    when = datetime(2024, 5, 1, 12, tzinfo=UTC)
    body = html("茶").encode("gb18030")
    raw = RawPage("gb", body, True, Source("x"), "http://gb.example/", title="T", time=when)
    client.add(raw)
    stored = client.page("gb")
    assert stored is not None
    assert (stored.time, stored.title, stored.host) == (when, "T", "gb.example")
    assert "春茶上市以来" in (client.text("gb") or "")


def test_many_pages_go_in_parts(service: Service) -> None:
    pages = (text_page(f"many words of page {number}", id=f"many-{number}") for number in range(8))
    with Client(service.url, timeout=400, pages_per_request=3) as client:
        answers = client.stream(pages)
        assert next(answers).id == "many-0"
        assert next(pages).id == "many-3"  # the first request is answered, the next not yet made
        assert [answer.id for answer in answers] == [f"many-{n}" for n in (1, 2, 4, 5, 6, 7)]


def test_refusals_are_told(client: Client, guarded: Service) -> None:
    with pytest.raises(ServiceError, match="no page") as told:
        client.compare("nowhere", "nor here")
    assert (told.value.status, told.value.code) == (404, "not-found")
    with pytest.raises(ServiceError) as told:
        client.add(text_page("", id="empty"))
    assert told.value.code == "empty"
    with pytest.raises(ServiceError) as told:
        client.add_many([text_page("", id="empty")])
    assert told.value.code == "empty"
    with Client(guarded.url) as nobody, pytest.raises(ServiceError) as told:
        nobody.stats()
    assert told.value.code == "no-token"
    with Client(guarded.url, token=READ) as reader, pytest.raises(ServiceError) as told:
        reader.add(text_page("words", id="x"))
    assert told.value.code == "read-only"
    with Client(guarded.url, token=WRITE) as writer:
        assert writer.add(text_page("words", id="x")).id == "x"


def answering(*statuses: int) -> tuple[httpx.MockTransport, list[httpx.Request]]:
    """A service that gives these statuses in turn (0: the connection breaks)."""
    left, asked = list(statuses), []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        status = left.pop(0)
        if not status:
            raise httpx.ConnectError("broken")
        told = {"code": "busy", "detail": "later"} if status >= 400 else {"pages": 1}
        return httpx.Response(status, json=told, headers={"Retry-After": "7"})

    return httpx.MockTransport(answer), asked


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def test_a_busy_service_is_asked_again(pauses: list[float]) -> None:
    transport, asked = answering(503, 429, 0, 200)
    with Client("http://s.example", transport=transport) as client:
        assert client.stats() == {"pages": 1}
    assert len(asked) == 4
    assert all(5 <= pause <= 9 for pause in pauses[:2])  # seven, as it asked
    assert pauses[2] < 1


def test_patience_ends(pauses: list[float]) -> None:
    transport, asked = answering(503, 503, 503)
    with (
        Client("http://s.example", transport=transport, retries=2) as client,
        pytest.raises(ServiceError, match="later") as told,
    ):
        client.stats()
    assert (told.value.status, len(asked), len(pauses)) == (503, 3, 2)
    transport, _ = answering(0)
    with (
        Client("http://s.example", transport=transport, retries=0) as client,
        pytest.raises(ServiceError, match="cannot be reached"),
    ):
        client.stats()


def test_large_bodies_are_packed() -> None:
    transport, asked = answering(422)
    page = text_page("word " * 1_000, id="x")
    with Client("http://s.example", transport=transport) as client, pytest.raises(ServiceError):
        client.add(page)
    assert asked[0].headers["content-encoding"] == "gzip"
    assert len(asked[0].content) < 500
    assert json.loads(gzip.decompress(asked[0].content))["id"] == "x"
