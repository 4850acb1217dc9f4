"""Many clients at once, kill -9 under load, stopping in the middle: nothing is lost."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from index_checks import check_whole
from neardup import Index, html_page
from neardup.service.client import Client, ServiceError
from neardup.service.connections import CONNECTIONS
from service_process import Service, serving

CLIENTS = CONNECTIONS - 10  # the watcher connects, too: a connection too many is closed unanswered
WAITING = 200


def content(number: int) -> str:
    """A page of its own, but for every second one, which repeats the one before it.

    However many pages a fast machine takes, none of their keys becomes hot: no line is alike.
    """
    chance = random.Random(number // 2)
    words = [f"{chance.randrange(10**6):06}" for _ in range(80)]
    body = "".join(f"<p>{' '.join(words[first : first + 10])}.</p>" for first in range(0, 80, 10))
    return f"<html><title>Report {words[0]}</title><body>{body}</body></html>"


def url_of(number: int) -> str:
    return f"http://site{number % 50}.example/{number}"


def stored(folder: Path) -> set[str]:
    """The ids in the store of a service that has ended; the store must be whole."""
    with Index.open(f"sqlite:///{folder / 'pages.db'}", create=False) as index:
        return check_whole(index)


def metric(service: Service, name: str) -> float:
    """A metric, over all its labels."""
    told = httpx.get(f"{service.url}/metrics", timeout=60).text
    lines = [line for line in told.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


async def one_client(service: Service, number: int, all_here: asyncio.Barrier) -> tuple[int, bytes]:
    """Connect, wait for all the others, add a page; gives the status and the head."""
    address = urlsplit(service.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        await all_here.wait()
        page = {"id": str(number), "url": url_of(number), "html": content(number)}
        body = json.dumps(page).encode()
        head = (
            f"POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 120)
    finally:
        writer.close()
    return int(answer.split(b" ", 2)[1]), answer


async def all_clients(service: Service) -> list[tuple[int, bytes]]:
    """All at once; meanwhile the service says that it is alive."""
    all_here = asyncio.Barrier(CLIENTS + 1)
    clients = [one_client(service, number, all_here) for number in range(CLIENTS)]
    answers = asyncio.gather(*clients)
    async with httpx.AsyncClient(base_url=service.url, timeout=60) as watcher:
        await all_here.wait()
        assert (await watcher.get("/healthz")).status_code == 200
        assert (await watcher.get("/readyz")).status_code == 200
    return await answers


def test_as_many_clients_at_once_as_it_takes(tmp_path: Path) -> None:
    with serving(tmp_path, "--waiting", WAITING) as service:
        answers = asyncio.run(all_clients(service))
        assert httpx.get(f"{service.url}/readyz", timeout=30).status_code == 200
        assert service.stop() == 0
    counts = Counter(status for status, _ in answers)
    assert set(counts) <= {200, 503}
    assert counts[200] >= WAITING
    assert all(b"retry-after: " in answer for status, answer in answers if status == 503)
    acknowledged = {str(number) for number, (status, _) in enumerate(answers) if status == 200}
    assert stored(tmp_path) == acknowledged


class Crowd:
    """Clients that add pages one after another until their service is gone."""

    def __init__(self, service: Service, clients: int, first: int) -> None:
        self.acknowledged: set[str] = set()
        self._lock = threading.Lock()
        self._next = first
        self._threads = [
            threading.Thread(target=self._add, args=(service.url,)) for _ in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _add(self, url: str) -> None:
        with Client(url, retries=0) as client:
            while True:
                with self._lock:
                    number, self._next = self._next, self._next + 1
                page = html_page(content(number), id=str(number), url=url_of(number))
                try:
                    answer = client.add(page)
                except ServiceError as refused:
                    if refused.status == 503:
                        continue
                    return
                with self._lock:
                    self.acknowledged.add(answer.id)

    def wait_for(self, count: int) -> None:
        started = time.monotonic()
        while len(self.acknowledged) < count:
            assert time.monotonic() - started < 300
            time.sleep(0.01)

    def join(self) -> int:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        return self._next


def test_killed_under_load_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    first = 0
    for _ in range(2):
        with serving(tmp_path) as service:
            crowd = Crowd(service, clients=8, first=first)
            crowd.wait_for(60)
            service.kill()
            first = crowd.join()
        acknowledged |= crowd.acknowledged
        assert acknowledged <= stored(tmp_path)
    assert len(acknowledged) >= 120


def test_stopped_in_the_middle_it_finishes_what_it_has_begun(tmp_path: Path) -> None:
    lines = "\n".join(
        json.dumps({"id": str(number), "url": url_of(number), "html": content(number)})
        for number in range(900)
    )
    with serving(tmp_path) as service:
        answers: list[httpx.Response] = []

        def send() -> None:
            headers = {"Content-Type": "application/x-ndjson"}
            url = f"{service.url}/v1/pages"
            answers.append(httpx.post(url, content=lines, headers=headers, timeout=120))

        sending = threading.Thread(target=send)
        sending.start()
        while sending.is_alive() and metric(service, "neardup_body_bytes_held") < len(lines):
            time.sleep(0.01)
        service.process.send_signal(signal.SIGTERM)
        sending.join(120)
        assert service.process.wait(120) == 0
    assert answers[0].status_code == 200
    assert len(answers[0].text.splitlines()) == 900
    assert len(stored(tmp_path)) == 900


def test_two_workers_share_a_store_and_their_counts(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", 2) as service:
        crowd = Crowd(service, clients=6, first=0)
        crowd.wait_for(80)
        counted = metric(service, "neardup_pages_total")
        assert service.stop() == 0
        crowd.join()
    assert counted >= 60
    assert crowd.acknowledged <= stored(tmp_path)
