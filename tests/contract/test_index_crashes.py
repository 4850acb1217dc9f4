"""Nothing lost: writers are killed, many write at once, the server goes away, the disk is full."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from index_checks import check_whole, groups
from neardup import Index, StoreError, html_page, text_page
from neardup.stores.sqlite import SqliteStore
from postgres import Server
from sample_pages import html

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent.parent
KILLS = 200
TORTURE = bool(os.environ.get("NEARDUP_TORTURE"))


def run(script: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / script), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out


def test_killed_at_any_moment(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'crashes.db'}"
    acknowledged, kept = map(int, finished(run("crashing_writer.py", url, str(KILLS), "7")).split())
    assert acknowledged > KILLS  # writers were in the middle of their work
    assert kept > 0


@pytest.mark.xdist_group("postgres")
def test_killed_at_any_moment_on_postgres(postgres: Server) -> None:
    acknowledged, _ = map(
        int, finished(run("crashing_writer.py", postgres.store_url(), "20", "8")).split()
    )
    assert acknowledged > 20


def test_killed_while_waiting_pages_are_written_together(tmp_path: Path) -> None:
    url, kills = f"sqlite:///{tmp_path / 'crashes.db'}", 200 if TORTURE else 15
    told = finished(run("crashing_writer.py", url, str(kills), "9", "gathered"))
    acknowledged, kept = map(int, told.split())
    assert acknowledged > kills
    assert kept > 0


@pytest.mark.xdist_group("postgres")
def test_killed_while_waiting_pages_are_written_together_on_postgres(postgres: Server) -> None:
    url, kills = postgres.store_url(), 50 if TORTURE else 5
    told = finished(run("crashing_writer.py", url, str(kills), "10", "gathered"))
    assert int(told.split()[0]) >= kills


def stream(seed: int, count: int) -> list[dict[str, str]]:
    """Pages of which every third is a copy of another, on a few hosts."""
    chance = random.Random(seed)
    words = [f"word{number}" for number in range(500)]
    texts = [" ".join(chance.choice(words) for _ in range(80)) for _ in range(count * 2 // 3)]
    return [
        {
            "id": f"p{number}",
            "url": f"http://h{number % 7}.example/{number}",
            "text": texts[number % len(texts)],
        }
        for number in range(count)
    ]


def add_from_many(url: str, pages: list[dict[str, str]], processes: int, folder: Path) -> None:
    """Each process adds a part of its own and half of the others, in an order of its own."""
    running = []
    for number in range(processes):
        chance = random.Random(number)
        mine = pages[number::processes]
        mine += chance.sample(pages, len(pages) // 2)
        chance.shuffle(mine)
        part = folder / f"part{number}.json"
        part.write_text(json.dumps(mine), encoding="utf-8")
        running.append(run("adding_process.py", url, str(part)))
    for process in running:
        finished(process)


def check_shared(url: str, pages: list[dict[str, str]]) -> None:
    """Every page once, and after a recheck the clusters are those of one process."""
    with Index.open("memory://") as alone, Index.open(url) as shared:
        assert check_whole(shared) == {page["id"] for page in pages}
        alone.add_many(text_page(page["text"], id=page["id"], url=page["url"]) for page in pages)
        shared.recheck()
        alone.recheck()
        assert groups(shared) == groups(alone)
        assert len(groups(shared)) < len(pages)
        check_whole(shared)


def test_four_processes_on_one_file(tmp_path: Path) -> None:
    url, pages = f"sqlite:///{tmp_path / 'shared.db'}", stream(1, 150)
    add_from_many(url, pages, 4, tmp_path)
    check_shared(url, pages)


@pytest.mark.xdist_group("postgres")
def test_eight_processes_on_postgres_that_restarts(postgres: Server, tmp_path: Path) -> None:
    url, pages = postgres.store_url(), stream(2, 200)
    Index.open(url).close()
    adding = threading.Thread(target=add_from_many, args=(url, pages, 8, tmp_path))
    adding.start()
    try:
        _wait_for_pages(url, 20)
        _wait(lambda: len([*tmp_path.glob("*.open")]) == 8)  # a store that is away is not opened
        postgres.stop()
        time.sleep(1.0)
    finally:
        postgres.start()
        adding.join()
    check_shared(url, pages)


def _wait_for_pages(url: str, count: int) -> None:
    with Index.open(url) as index:
        _wait(lambda: len(index) >= count)


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline, "nobody is adding"
        time.sleep(0.05)


def test_threads_share_an_index(tmp_path: Path) -> None:
    pages = [text_page(page["text"], id=page["id"], url=page["url"]) for page in stream(3, 90)]
    failures: list[BaseException] = []
    with Index.open(f"sqlite:///{tmp_path / 'threads.db'}") as index:

        def add(seed: int) -> None:
            try:
                for page in random.Random(seed).sample(pages, 60):
                    index.add(page)
                    index.query(page)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=add, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        check_whole(index)


def test_a_full_disk(tmp_path: Path) -> None:
    with Index.open(f"sqlite:///{tmp_path / 'full.db'}") as index:
        index.add(html_page(html("ferry"), id="a", url="http://a.example/"))
        store = index.store
        assert isinstance(store, SqliteStore)
        limit(store, extra=0)
        long = [text_page(" ".join(map(str, range(n, n + 3_000))), id=f"x{n}") for n in range(40)]
        with pytest.raises(StoreError, match="disk is full; this batch was not stored"):
            index.add_many(long)
        assert check_whole(index) == {"a"}
        assert index.add(html_page(html("ferry"), id="a", url="http://a.example/")).known
        limit(store, extra=100_000)
        index.add_many(long)
        assert len(check_whole(index)) == 41


def limit(store: SqliteStore, *, extra: int) -> None:
    """The file may have so many more pages than it has: what a full disk does to SQLite."""
    raw = store._connection()
    used = raw.execute("PRAGMA page_count").fetchone()[0]
    raw.execute(f"PRAGMA max_page_count = {used + extra}")
