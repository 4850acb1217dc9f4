"""A site on this machine with everything that makes a crawl go round in circles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sample_pages import long_html

ARTICLES = ["harbour", "railway", "orchard", "茶山", "渡口"]
ROOT = Path(__file__).parents[2]
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August")


def in_template(title: str, body: str, links: dict[str, str]) -> str:
    """A page of the site."""
    listed = "".join(f"<li><a href='{to}'>{words}</a></li>" for words, to in links.items())
    return (
        f"<html><head><meta charset='utf-8'><title>{title}</title></head><body><header>"
        f"The Harbour Gazette, news of the bay since 1871</header><main>{body}</main>"
        f"<nav><ul>{listed}</ul></nav><footer>All rights reserved</footer></body></html>"
    )


def article(number: int, session: int | None) -> str:
    """An article; every visit gives its links a new session id."""
    following = 1 if session is None else session + 1
    return in_template(
        f"Article {number}",
        _body_of(ARTICLES[number]),
        {
            "Print": f"/print/{number}",
            "This article": f"/articles/{number}?sid={following}",
        },
    )


def print_version(number: int) -> str:
    """The article's text without the site's template, and a link that only it has."""
    body = _body_of(ARTICLES[number])
    return (
        f"<html><head><meta charset='utf-8'><title>Print: article {number}</title></head>"
        f"<body>{body}<p><a href='/behind-print/{number}'>Notes</a></p></body></html>"
    )


def calendar(month: int) -> str:
    """A month without events; there is always a next one."""
    name = f"{MONTHS[month % 8]} {2024 + month // 8}"
    return in_template(
        f"Events in {name}",
        f"<h1>{name}</h1><p>There are no events in this month. Ask the harbour office for a list "
        "of past events, or send us yours before the end of the week so that it can be printed.</p>"
        "<p>All events are held at the town hall, in the old granary by the canal or on the lower "
        "meadow, unless something else is said in the notice that you find at the gate.</p>",
        {"Next month": f"/calendar?month={month + 1}"},
    )


def diary(month: int) -> str:
    """A month with so little text that its heading is more than a twentieth of it."""
    name = f"{MONTHS[month % 8]} {2024 + month // 8}"
    return in_template(
        f"Diary of {name}",
        f"<h1>{name}</h1><p>There are no entries in this month. Ask the harbour office for a list "
        "of past entries, or send us yours.</p>",
        {"Next month": f"/diary?month={month + 1}"},
    )


def _body_of(topic: str) -> str:
    return long_html(topic).partition("<article>")[2].partition("</article>")[0]


Answer = tuple[int, str, bytes]


def _html(text: str) -> Answer:
    return 200, "text/html", text.encode()  # the page itself names its charset


@dataclass
class Site:
    """The site, on one host or more."""

    hosts: list[str] = field(default_factory=list)  # as in http://HOST/
    asked: list[str] = field(default_factory=list)  # every path that was fetched, with its host

    def answer(self, target: str) -> Answer:
        """What is sent for a path."""
        url = urlsplit(target)
        numbers = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        folder, _, last = url.path.strip("/").partition("/")
        if folder == "articles":
            return _html(article(int(last), numbers.get("sid")))
        if folder == "print":
            return _html(print_version(int(last)))
        if folder == "calendar":
            return _html(calendar(numbers["month"]))
        if folder == "diary":
            return _html(diary(numbers["month"]))
        if folder == "behind-print":
            return _html(in_template("Notes", f"<p>Note number {last}.</p>", {}))
        return self._other(folder)

    def _other(self, name: str) -> Answer:
        if name == "":
            return _html(in_template("Front page", "<p>Welcome.</p>", self._front_links()))
        if name == "logo":
            return 200, "image/png", b"\x89PNG\r\n\x1a\n"
        if name == "data":
            return 200, "application/json", b'{"a": 1}'
        if name == "nothing":
            return 200, "text/html", b""
        return 404, "text/html", b"<p>There is no such page.</p>"

    def _front_links(self) -> dict[str, str]:
        links = {f"Article {n}": f"/articles/{n}" for n in range(len(ARTICLES))}
        others = ("logo", "data", "nothing", "lost")
        return links | {name: f"/{name}" for name in others} | {"Events": "/calendar?month=0"}

    def times(self, part: str) -> int:
        """How often something with `part` in it was fetched."""
        return sum(part in each for each in self.asked)


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site.asked.append(f"{self.headers['Host']}{self.path}")
            status, kind, body = site.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    return Handler


@pytest.fixture
def site() -> Iterator[Site]:
    """The site under two names."""
    made = Site()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(made)) for _ in range(2)]
    made.hosts = [
        f"{name}:{server.server_port}"
        for name, server in zip(("127.0.0.1", "localhost"), servers, strict=True)
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    for server in servers:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class Crawled:
    """What a crawl left behind."""

    stats: dict[str, Any]
    items: list[dict[str, Any]]
    log: str

    def stat(self, name: str) -> Any:
        """A count of neardup's; 0 for what did not happen."""
        return self.stats.get(f"neardup/{name}", 0)


CrawlIt = Callable[..., Crawled]


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlIt:
    """Run a spider, by default the one of examples/, in a Scrapy process of its own."""

    def run(
        *starts: str,
        spider: str = "examples.near_duplicate_spider:NearDuplicateSpider",
        **settings: Any,
    ) -> Crawled:
        items = tmp_path / "items.jsonl"
        items.unlink(missing_ok=True)
        order = {
            "spider": spider,
            "start": ",".join(starts),
            "items": str(items),
            "settings": {"NEARDUP_STORE": f"sqlite:///{tmp_path / 'crawl.db'}"} | settings,
        }
        done = subprocess.run(
            [sys.executable, "-W", "error", str(Path(__file__).with_name("run_crawl.py"))],
            input=json.dumps(order),
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{Path(__file__).parent}"},
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        lines = items.read_text().splitlines() if items.exists() else []
        return Crawled(json.loads(done.stdout), [json.loads(each) for each in lines], done.stderr)

    return run
