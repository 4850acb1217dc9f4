"""Requests that would hold up the others: each is refused or bounded, and the rest go on."""

from __future__ import annotations

import asyncio
import gzip
import logging
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from neardup.service.connections import (
    CONNECTIONS,
    HEAD_SECONDS,
    BoundedProtocol,
    ThrottledErrors,
)
from service_process import READ, TOKENS, WRITE, Service, serving

pytestmark = pytest.mark.slow

READER, WRITER = ({"Authorization": f"Bearer {token}"} for token in (READ, WRITE))
NOTHING = b"[" + b"[]," * 10_000_000 + b"0]"
OPTIONS = ("--timeout", "20", "--threads", "2", "--waiting", "16")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("busy"), *OPTIONS, environment=TOKENS) as running:
        yield running


@pytest.fixture
def client(busy: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=busy.url, timeout=60, trust_env=False, headers=WRITER) as http:
        yield http


def connect(service: Service) -> socket.socket:
    place = urlsplit(service.url)
    return socket.create_connection((place.hostname, place.port), timeout=60)


def test_answers_are_sent_at_once() -> None:
    """Also by one of several workers, which share a socket that does not name its protocol."""

    async def delays() -> int:
        config = uvicorn.Config(lambda scope: None)
        config.load()
        protocol = BoundedProtocol(config, ServerState(), {})
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            loop = asyncio.get_running_loop()
            async with await loop.create_server(lambda: protocol, sock=listener):
                _, line = await asyncio.open_connection(*listener.getsockname())
                while not protocol.connections:
                    await asyncio.sleep(0.01)
                ours = protocol.transport.get_extra_info("socket")
                line.close()
                return int(ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    assert asyncio.run(delays())


def test_an_origin_that_is_no_url_is_a_bad_request(client: httpx.Client) -> None:
    answer = client.post("/v1/pages", json={"id": "a"}, headers={"Origin": "http://["})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-origin")


def test_a_body_with_two_lengths_is_refused(busy: Service) -> None:
    head = f"POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {WRITE}\r\n"
    with connect(busy) as line:
        line.sendall(f"{head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        line.sendall(b"0\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(4096), b""))  # until the connection is closed
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"ambiguous-length" in answer


@pytest.mark.parametrize(
    ("path", "kind", "body", "told"),
    [
        ("pages", "application/x-ndjson", b"[]\n" * 10_000_000, (413, "too-many")),
        ("pages", "application/json", NOTHING, (422, "too-many-values")),
        ("compare", "application/json", NOTHING, (422, "too-many-values")),
        ("feedback", "application/json", NOTHING, (422, "too-many-values")),
    ],
)
def test_large_bodies_of_nothing_do_not_hold_up_others(
    busy: Service, client: httpx.Client, path: str, kind: str, body: bytes, told: tuple[int, str]
) -> None:
    answers = []

    def send() -> None:
        answers.append(client.post(f"/v1/{path}", content=body, headers={"Content-Type": kind}))

    sender = threading.Thread(target=send)
    sender.start()
    slowest = 0.0
    while sender.is_alive():
        started = time.monotonic()
        assert httpx.get(f"{busy.url}/healthz", trust_env=False).status_code == 200
        slowest = max(slowest, time.monotonic() - started)
    sender.join()
    assert (answers[0].status_code, answers[0].json()["code"]) == told
    assert slowest < 3


def test_empty_gzip_members_cost_little(client: httpx.Client) -> None:
    members = gzip.compress(b"") * 200_000
    started = time.monotonic()
    answer = client.post("/v1/pages", content=members, headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-encoding")
    assert time.monotonic() - started < 10


def test_slow_logins_do_not_keep_out_those_with_a_token(
    busy: Service, client: httpx.Client
) -> None:
    head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken="
    with ExitStack() as lines:
        for _ in range(40):
            lines.enter_context(connect(busy)).sendall(head.encode())
        time.sleep(1)
        assert client.get("/v1/stats").status_code == 200
        assert httpx.get(f"{busy.url}/login", trust_env=False).status_code == 503


def test_without_a_token_no_body_is_read(busy: Service) -> None:
    head = "POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    with connect(busy) as line:
        line.sendall(head.encode())
        assert line.recv(4096).split(b"\r\n")[0].endswith(b"401 Unauthorized")


def test_a_head_that_does_not_come_ends_the_connection(busy: Service) -> None:
    started = time.monotonic()
    with connect(busy) as line, connect(busy) as silent:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        assert line.recv(100) == b""
        assert silent.recv(100) == b""
    assert HEAD_SECONDS - 1 < time.monotonic() - started < HEAD_SECONDS + 20


def has_ended(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True


def test_connections_beyond_the_limit_are_closed_at_once(busy: Service) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < 2 * CONNECTIONS:
        pytest.skip("needs more file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    resource.prlimit(busy.process.pid, resource.RLIMIT_NOFILE, (most, most))
    with ExitStack() as stack:
        lines = [stack.enter_context(connect(busy)) for _ in range(CONNECTIONS + 50)]
        started = time.monotonic()
        assert all(has_ended(line) for line in lines[CONNECTIONS:])
        assert time.monotonic() - started < HEAD_SECONDS / 2
        lines[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert lines[0].recv(4096).startswith(b"HTTP/1.1 200")
    answer = httpx.get(f"{busy.url}/v1/stats", headers=READER, timeout=60, trust_env=False)
    assert answer.status_code == 200


def test_a_url_has_a_length(client: httpx.Client) -> None:
    page = {"url": "http://a.example/" + "x" * 9_000, "text": "Some words."}
    assert client.post("/v1/pages", json=page).status_code == 422


def test_comparisons_leave_readers_free_and_do_not_outlive_the_service(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    options = ("--timeout", "4", "--threads", "2", "--max-body", "64MB")
    text = " ".join(f"word{n * n % 99_991}" for n in range(900_000))
    sides = {"a": {"id": "a", "text": text}, "b": {"id": "b", "text": text[::-1]}}
    with serving(tmp_path_factory.mktemp("ending"), *options, environment=TOKENS) as running:
        url = f"{running.url}/v1/compare"

        def compare() -> None:
            body = {**sides, "method": "edit-distance"}
            httpx.post(url, json=body, headers=READER, timeout=60, trust_env=False)

        senders = [threading.Thread(target=compare) for _ in range(4)]
        for sender in senders:
            sender.start()
        time.sleep(3)
        stats = f"{running.url}/v1/stats"
        answer = httpx.get(stats, headers=READER, timeout=60, trust_env=False)
        assert answer.status_code == 200
        for sender in senders:
            sender.join()
        started = time.monotonic()
        assert running.stop() == 0
        assert time.monotonic() - started < 20


def test_a_service_without_descriptors_says_so_once_and_recovers(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with serving(tmp_path_factory.mktemp("few"), environment=TOKENS) as running:
        open_files = len(list(Path(f"/proc/{running.process.pid}/fd").iterdir()))
        _, hard = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (open_files + 10, hard))
        logged = running.log.stat().st_size
        with ExitStack() as lines:
            for _ in range(200):
                lines.enter_context(connect(running))
            time.sleep(3)
            trouble = running.log.read_text("utf-8")[logged:]
        assert 0 < trouble.count("event loop") <= 3
        assert len(trouble) < 5_000
        assert "OSError" in trouble
        stats = f"{running.url}/v1/stats"
        answer = httpx.get(stats, headers=READER, timeout=30, trust_env=False)
        assert answer.status_code == 200


def test_the_same_trouble_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("neardup.service")
    log.propagate = True
    with caplog.at_level(logging.ERROR, "neardup.service"):
        throttled, loop = ThrottledErrors(), asyncio.new_event_loop()
        for _ in range(2_000):
            throttled(loop, {"message": "no descriptors", "exception": OSError(24, "too many")})
        throttled(loop, {"message": "another"})
        loop.close()
    assert len(caplog.records) == 2
