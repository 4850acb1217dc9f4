"""Webhooks: signed, repeated until they arrive, and from the same place after a restart."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from neardup import Index, UsageError, text_page
from neardup.service import webhooks
from neardup.service.client import Client
from neardup.service.logs import Metrics
from neardup.service.webhooks import Hook, Pauses, Webhooks, check_hooks, sign, verify
from neardup.stores.session import Session
from service_process import PATIENT, serving

SECRET = "a secret of some length"


class Receiver:
    """Takes deliveries; answers with the statuses of a list, then with 204."""

    def __init__(self) -> None:
        self.deliveries: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                if status == 204:
                    receiver.deliveries.append((dict(self.headers), body))
                self.send_response(status)
                self.send_header("Location", receiver.url)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def changes(self) -> list[dict[str, Any]]:
        return [each for _, body in self.deliveries for each in json.loads(body)["changes"]]

    def pages(self) -> list[str]:
        return [change["page"] for change in self.changes()]

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + 60
        while len(self.changes()) < count and time.monotonic() < until:
            time.sleep(0.02)
        assert len(self.changes()) >= count


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def add(index: Index | Client, *names: str) -> None:
    for name in names:
        words = " ".join(f"{name}{number}" for number in range(40))
        index.add(text_page(words, id=name, url=f"http://{name}.example/"))


def hooks(index: Index, *urls: str, kinds: tuple[str, ...] = ("created",)) -> Webhooks:
    return Webhooks(index, urls, kinds, SECRET, Metrics(), Pauses(poll=0.02, first=0.02))


def wait_until_known(index: Index) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if any(name.startswith("webhook ") for name in settings(index)):
            break
        time.sleep(0.01)
    time.sleep(0.1)


def settings(index: Index) -> dict[str, str]:
    return index.store.read(lambda session: session.settings())


def test_changes_come_signed_in_order_and_only_from_now_on(
    receiver: Receiver, tmp_path: Path
) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'a.db'}") as index:
        add(index, "before")
        running = hooks(index, receiver.url)
        wait_until_known(index)
        add(index, "a", "b", "c")
        receiver.wait_for(3)
        running.close()
        assert receiver.pages() == ["a", "b", "c"]
        assert receiver.changes()[0]["kind"] == "created"
    for headers, body in receiver.deliveries:
        assert verify(SECRET, headers, body)
        assert not verify("another secret", headers, body)
        assert not verify(SECRET, headers, body + b" ")
        assert not verify(SECRET, headers, body, tolerance=-1)
        assert not verify(SECRET, {**headers, webhooks.TIMESTAMP: "1"}, body)
        assert headers["Content-Type"] == "application/json"


def test_the_signature_is_the_one_that_others_compute() -> None:
    """printf '1700000000.{}' | openssl dgst -sha256 -hmac key"""
    digest = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
    assert sign("key", "1700000000", b"{}") == f"sha256={digest}"


def test_failures_are_repeated_and_nothing_is_left_out(receiver: Receiver, tmp_path: Path) -> None:
    receiver.statuses = [500, 429, 302, 404]
    with Index.open(f"sqlite:///{tmp_path / 'a.db'}") as index:
        running = hooks(index, receiver.url)
        wait_until_known(index)
        add(index, "a", "b")
        receiver.wait_for(2)
        running.close()
    assert receiver.statuses == []
    assert sorted(set(receiver.pages())) == ["a", "b"]


def test_pauses_grow_to_a_limit() -> None:
    with Index.open("memory://") as index:
        hook = Hook(
            index, "http://a.example/", ("created",), SECRET, "me", Metrics(), webhooks.PAUSES
        )
        pauses = [hook._pause() for _ in range(40)]
    assert pauses[5] > pauses[0]
    assert 0.7 * webhooks.PAUSES.longest < pauses[-1] < 1.3 * webhooks.PAUSES.longest


def end_leases(session: Session) -> None:
    for name in session.settings():
        if name.startswith("webhook lease"):
            session.keep_setting(name, "gone 0.0")


def test_what_happens_while_nobody_delivers_comes_later(receiver: Receiver, tmp_path: Path) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'a.db'}") as index:
        running = hooks(index, receiver.url)
        wait_until_known(index)
        add(index, "a")
        receiver.wait_for(1)
        running.close()
        add(index, *(f"p{number}" for number in range(250)))
        index.store.write(end_leases)
        again = hooks(index, receiver.url)
        receiver.wait_for(251)
        again.close()
    assert receiver.pages() == ["a", *(f"p{number}" for number in range(250))]
    assert max(len(json.loads(body)["changes"]) for _, body in receiver.deliveries) <= 100


def test_of_several_workers_one_delivers(receiver: Receiver, tmp_path: Path) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'a.db'}") as index:
        workers = [hooks(index, receiver.url) for _ in range(3)]
        wait_until_known(index)
        add(index, *(f"p{number}" for number in range(20)))
        receiver.wait_for(20)
        time.sleep(0.3)
        for each in workers:
            each.close()
    assert len(receiver.pages()) == len(set(receiver.pages())) == 20


def test_a_receiver_that_is_away_keeps_no_other_waiting(receiver: Receiver, tmp_path: Path) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'a.db'}") as index:
        running = hooks(index, "http://127.0.0.1:9/", receiver.url)
        wait_until_known(index)
        add(index, "a")
        receiver.wait_for(1)
        running.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.example/", "a.example", "http://["])
def test_only_addresses_of_the_web(url: str) -> None:
    with pytest.raises(UsageError, match="--webhook"):
        check_hooks((url,), {webhooks.SECRET: SECRET})


def test_a_secret_is_needed() -> None:
    check_hooks((), {})
    with pytest.raises(UsageError, match="NEARDUP_WEBHOOK_SECRET"):
        check_hooks(("https://a.example/",), {webhooks.SECRET: "short"})


@pytest.mark.slow
def test_a_service_that_is_killed_goes_on_where_it_was(receiver: Receiver, tmp_path: Path) -> None:
    options = (*PATIENT, "--webhook", receiver.url, "--webhook-kinds", "created,joined")
    environment = {webhooks.SECRET: SECRET}
    with serving(tmp_path, *options, environment=environment) as service:
        time.sleep(2)  # the webhook is known to the store
        with Client(service.url) as client:
            add(client, "a")
            receiver.wait_for(1)
            receiver.statuses = [503] * 100
            add(client, "b", "c")
            service.kill()
    receiver.statuses = []
    with serving(tmp_path, *options, environment=environment) as service:
        with Client(service.url) as client:
            add(client, "d")
            feed = client.changes()
        receiver.wait_for(4)
        assert service.stop() == 0
    assert [change.page for change in feed.changes] == ["a", "b", "c", "d"]
    assert receiver.pages() == ["a", "b", "c", "d"]
