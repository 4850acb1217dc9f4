"""Pages and records of the index on their way over the wire, as the client sees them.

Requests with patience: what a service had no room for is sent again.

A typed client of the service. Its verbs and answers are those of `neardup.index.Index`.

    with Client("http://127.0.0.1:8000", token=token) as client:
        answer = client.add(html_page(html, url=url))
        for answer in client.stream(pages): ...

A request that the service had no room for (429, 503) or that was cut off is sent again, as often
as `retries` says and after the time that the service asks for: adding a page twice is adding it
once.
"""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from neardup.errors import MissingExtraError, NeardupError
from neardup.index import Answer, ClusterSummary, Event, Feedback, StoredPage
from neardup.model import RawPage, Relation, Verdict
from neardup.pages import batches
from neardup.pages.fields import format_time
from neardup.text.charset import to_utf8

if TYPE_CHECKING:
    import httpx


Record = TypeVar("Record")


def page_line(page: RawPage) -> bytes:
    """A page as a line of JSON."""
    return json.dumps(page_fields(page)).encode() + b"\n"


def page_fields(page: RawPage) -> dict[str, str]:
    """A page as the service reads it; its bytes are decoded here, where its charset is known."""
    body, _ = to_utf8(page.body, page.charset)
    told = {"id": page.id, "url": page.url, "title": page.title}
    if page.time is not None:
        told["time"] = format_time(page.time)
    content = bytes(body).decode("utf-8", "replace")
    return {**told, "html" if page.is_html else "text": content}


def side_fields(side: RawPage | str) -> dict[str, str]:
    """A page to compare, or the id of a stored one."""
    return {"id": side} if isinstance(side, str) else page_fields(side)


def answer_from(told: dict[str, Any]) -> Answer:
    """An answer from its JSON."""
    relation = told["relation"]
    return Answer(**{**told, "relation": None if relation is None else Relation(relation)})


def record_from(kind: type[Record], told: Mapping[str, Any]) -> Record:
    """A record of the index from its JSON; times are times again."""
    values = {field.name: told[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    for name in ("at", "time", "added", "seen", "created", "changed"):
        if isinstance(values.get(name), str):
            values[name] = datetime.fromisoformat(values[name])
    return kind(**values)


try:
    import httpx
except ImportError as error:
    raise MissingExtraError("the client of the service", "service") from error

WORTH_PACKING = 1_000  # bytes
NOT_NOW = (429, 503)
LONGEST_PAUSE = 30.0


class ServiceError(NeardupError):
    """The service refused a request, or cannot be reached (`status` 0). `code` is its word."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{detail} ({status} {code})" if status else detail)
        self.status = status
        self.code = code


class Caller:
    """Sends requests to one service, each as often as it takes."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        retries: int,
        transport: httpx.BaseTransport | None,
    ) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )
        self._retries = retries

    def reaches(self, path: str) -> bool:
        """Whether a path can be asked for, now."""
        try:
            return self.http.get(path).status_code == 200
        except httpx.TransportError:
            return False

    def json(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: object = None,
        missing: bool = False,
    ) -> Any:
        """The JSON of a response; None for a 404 that may be."""
        content = None if body is None else json.dumps(body).encode()
        kind = "application/json" if body is not None else ""
        sent = self.send(method, path, params=params, content=content, kind=kind, missing=missing)
        return None if sent.status_code == 404 else sent.json()

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        kind: str = "",
        missing: bool = False,
    ) -> httpx.Response:
        """The response, after as many tries as it takes; with `missing`, also that of a 404."""
        headers = {"Content-Type": kind} if kind else {}
        if content is not None and len(content) > WORTH_PACKING:
            content = gzip.compress(content, 1)
            headers["Content-Encoding"] = "gzip"
        request = self.http.build_request(
            method, path, params=params, content=content, headers=headers
        )
        response = self._with_patience(request)
        if response.is_success or (missing and response.status_code == 404):
            return response
        raise _refusal(response)

    def _with_patience(self, request: httpx.Request) -> httpx.Response:
        for tried in range(self._retries + 1):
            last = tried == self._retries
            try:
                response = self.http.send(request)
            except httpx.TransportError as error:
                if last:
                    told = f"{self.http.base_url} cannot be reached: {error}"
                    raise ServiceError(0, "unreachable", told) from error
                time.sleep(_pause(tried, ""))
                continue
            if response.status_code not in NOT_NOW or last:
                return response
            time.sleep(_pause(tried, response.headers.get("retry-after", "")))
        raise AssertionError("the last try returns or raises")


def _pause(tried: int, asked: str) -> float:
    """Seconds to wait: what the service asks for, or twice as long each time; never in step."""
    seconds = float(asked) if asked.isdecimal() else 0.1 * 2**tried
    return min(seconds, LONGEST_PAUSE) * random.uniform(0.75, 1.25)


def _refusal(response: httpx.Response) -> ServiceError:
    try:
        told = response.json()
        return ServiceError(response.status_code, told["code"], told["detail"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(response.status_code, "unknown", response.reason_phrase)


__all__ = ["Client", "ServiceError"]

PAGES_AT_ONCE = 100
BYTES_AT_ONCE = 8_000_000


class Client:
    """A service at an address; it is also a context manager."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._caller = Caller(url, token, timeout, retries, transport)

    def close(self) -> None:
        """Let go of the connections."""
        self._caller.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Adding and asking

    def add(self, page: RawPage) -> Answer:
        """Store a page and say what it is. When this returns, the page is in."""
        return self._send_page(page, dry_run=False)

    def query(self, page: RawPage) -> Answer:
        """What `add` would say, without storing the page."""
        return self._send_page(page, dry_run=True)

    def add_many(self, pages: Iterable[RawPage]) -> list[Answer]:
        """`add` for many pages; the answers are in their order."""
        return list(self.stream(pages))

    def query_many(self, pages: Iterable[RawPage]) -> list[Answer]:
        """`query` for many pages."""
        return list(self.stream(pages, dry_run=True))

    def stream(self, pages: Iterable[RawPage], *, dry_run: bool = False) -> Iterator[Answer]:
        """`add_many` for as many pages as there are, some at a time."""
        for batch in batches(pages, PAGES_AT_ONCE, BYTES_AT_ONCE):
            body = b"".join(page_line(page) for page in batch)
            response = self._caller.send(
                "POST",
                "/v1/pages",
                params={"dry_run": dry_run},
                content=body,
                kind="application/x-ndjson",
            )
            for line in response.text.splitlines():
                told = json.loads(line)
                if "skipped" in told:
                    raise ServiceError(422, told["skipped"], told["detail"])
                yield answer_from(told)

    def compare(
        self,
        a: RawPage | str,
        b: RawPage | str,
        *,
        method: str = "own-text",
        preset: str = "default",
        options: Mapping[str, object] | None = None,
    ) -> dict[str, Verdict]:
        """What `a` is to `b`, by method; a text is the id of a stored page, `all` every method."""
        asked = {
            "a": side_fields(a),
            "b": side_fields(b),
            "method": method,
            "preset": preset,
            "options": dict(options or {}),
        }
        found = self._caller.json("POST", "/v1/compare", body=asked)
        return {
            each["method"]: Verdict(
                Relation(each["relation"]), each["similarity"], each["evidence"]
            )
            for each in found["verdicts"]
        }

    # Looking and forgetting

    def page(self, id: str) -> StoredPage | None:  # noqa: A002 - the word for it
        """A page that is stored."""
        found = self._caller.json("GET", _page_path(id), missing=True)
        return None if found is None else record_from(StoredPage, found["page"])

    def text(self, id: str) -> str | None:  # noqa: A002
        """The text of a stored page, if texts are kept."""
        found = self._caller.json("GET", _page_path(id), params={"text": True}, missing=True)
        return None if found is None else found["text"]

    def remove(self, id: str) -> bool:  # noqa: A002
        """Forget a page; False if it was not there."""
        return self._caller.send("DELETE", _page_path(id), missing=True).status_code == 204

    def clusters(self, **wanted: str | int | datetime) -> Iterator[ClusterSummary]:
        """All clusters that fit (smallest, host, search, since, sort), as lists show them."""
        asked: dict[str, Any] = dict(wanted)
        if isinstance(since := asked.get("since"), datetime):
            asked["since"] = since.isoformat()
        skip: int | None = 0
        while skip is not None:
            found = self._caller.json("GET", "/v1/clusters", params={**asked, "skip": skip})
            yield from (record_from(ClusterSummary, each) for each in found["clusters"])
            skip = found["next"]

    def members(self, name: str) -> list[StoredPage]:
        """The pages of a cluster, in the order in which they came."""
        members: list[StoredPage] = []
        skip: int | None = 0
        while skip is not None:
            asked = {"skip": skip, "most": 1_000}
            found = self._caller.json("GET", _cluster_path(name), params=asked, missing=True)
            if found is None:
                break
            members += (record_from(StoredPage, each) for each in found["members"])
            skip = found["next"]
        return members

    def history(self, name: str) -> list[Event]:
        """What happened to a cluster."""
        found = self._caller.json("GET", _cluster_path(name), params={"most": 1}, missing=True)
        return [] if found is None else [record_from(Event, each) for each in found["history"]]

    def stats(self) -> dict[str, Any]:
        """Counts over the whole index."""
        found: dict[str, Any] = self._caller.json("GET", "/v1/stats")
        return found

    def is_ready(self) -> bool:
        """Whether the service can be reached and its store answers."""
        return self._caller.reaches("/readyz")

    # What people say

    def give_feedback(self, a: str, b: str, *, duplicate: bool, note: str = "") -> Feedback:
        """A person's word on a pair: it goes before the method's."""
        said = {"a": a, "b": b, "duplicate": duplicate, "note": note}
        return record_from(Feedback, self._caller.json("POST", "/v1/feedback", body=said))

    def take_back_feedback(self, a: str, b: str) -> bool:
        """Let the method's verdict count again; False if nothing was said."""
        sent = self._caller.send("DELETE", "/v1/feedback", params={"a": a, "b": b}, missing=True)
        return sent.status_code == 204

    def feedback(self) -> list[Feedback]:
        """All that people have said, oldest first."""
        return [record_from(Feedback, each) for each in self._caller.json("GET", "/v1/feedback")]

    def labelled_pairs(self) -> str:
        """What people have said as a CSV for `neardup tune` and `neardup evaluate`."""
        return self._caller.send("GET", "/v1/feedback/pairs.csv").text

    def _send_page(self, page: RawPage, *, dry_run: bool) -> Answer:
        asked = {"dry_run": dry_run}
        sent = self._caller.send(
            "POST", "/v1/pages", params=asked, content=page_line(page), kind="application/json"
        )
        return answer_from(sent.json())


def _page_path(id_: str) -> str:
    return f"/v1/pages/{quote(id_, safe='')}"


def _cluster_path(name: str) -> str:
    return f"/v1/clusters/{quote(name, safe='')}"
