"""A typed client of the service, with the methods and records of `neardup.index.Index`.

    with Client("http://127.0.0.1:8000", token=token) as client:
        answer = client.add(html_page(html, url=url))
        for answer in client.stream(pages): ...

A request that the service had no room for (429, 503) or whose connection broke is sent again, up to
`retries` times and after the pause the service asks for. This is safe: adding a page twice is the
same as adding it once.
"""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

from neardup.errors import MissingExtraError, NeardupError
from neardup.index import Answer, Change, Changes, ClusterSummary, Event, Feedback, StoredPage
from neardup.index.index import MAIN_CHANGES
from neardup.methods.registry import DEFAULT_METHOD
from neardup.model import RawPage, Relation, Verdict
from neardup.pages import batches
from neardup.pages.fields import json_value, page_fields
from neardup.text.charset import to_utf8

try:
    import httpx
except ImportError as error:
    raise MissingExtraError("the client of the service", "service") from error

__all__ = ["Client", "ServiceError"]

BYTES_AT_ONCE = 8_000_000
WORTH_COMPRESSING = 1_000  # bytes
NOT_NOW = (429, 503)
LONGEST_PAUSE = 30.0  # seconds

Record = TypeVar("Record")


class ServiceError(NeardupError):
    """The service refused a request (`code` says why) or cannot be reached (`status` 0)."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{detail} ({status} {code})" if status else detail)
        self.status = status
        self.code = code


class Client:
    """A service at a URL; also a context manager."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        pages_per_request: int = 100,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._caller = Caller(url, token, timeout, retries, transport)
        self._pages_per_request = pages_per_request

    def close(self) -> None:
        """Close the connections."""
        self._caller.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Adding and querying

    def add(self, page: RawPage) -> Answer:
        """Store a page and report whether it is new. Once this returns, the page is stored."""
        return self._send_page(page, dry_run=False)

    def query(self, page: RawPage) -> Answer:
        """What `add` would answer, without storing the page."""
        return self._send_page(page, dry_run=True)

    def add_many(self, pages: Iterable[RawPage]) -> list[Answer]:
        """`add` for many pages; answers in the same order."""
        return list(self.stream(pages))

    def query_many(self, pages: Iterable[RawPage]) -> list[Answer]:
        """`query` for many pages."""
        return list(self.stream(pages, dry_run=True))

    def stream(self, pages: Iterable[RawPage], *, dry_run: bool = False) -> Iterator[Answer]:
        """`add_many` for any number of pages, sent in batches."""
        for batch in batches(pages, self._pages_per_request, BYTES_AT_ONCE):
            lines = b"".join(map(page_line, batch))
            response = self._send_lines(lines, "application/x-ndjson", dry_run)
            for line in response.content.splitlines():  # no line ends but JSON's
                answer = json.loads(line)
                if "skipped" in answer:
                    raise ServiceError(422, answer["skipped"], answer["detail"])
                yield answer_from(answer)

    def compare(
        self,
        a: RawPage | str,
        b: RawPage | str,
        *,
        method: str = DEFAULT_METHOD,
        preset: str = "default",
        options: Mapping[str, object] | None = None,
    ) -> dict[str, Verdict]:
        """The verdicts by method (`all`: every one); a string is the id of a stored page."""
        body = {"a": side_fields(a), "b": side_fields(b), "method": method, "preset": preset}
        body["options"] = dict(options or {})
        compared = self._caller.json("POST", "/v1/compare", body=body)
        return {
            row["method"]: Verdict(Relation(row["relation"]), row["similarity"], row["evidence"])
            for row in compared["verdicts"]
        }

    # Reading and removing

    def page(self, id: str) -> StoredPage | None:  # noqa: A002 - the word for it
        """A stored page."""
        answer = self._caller.json("GET", _page_path(id), missing=True)
        return None if answer is None else record_from(StoredPage, answer["page"])

    def text(self, id: str) -> str | None:  # noqa: A002
        """The text of a stored page, if texts are kept."""
        answer = self._caller.json("GET", _page_path(id), params={"text": True}, missing=True)
        return None if answer is None else answer["text"]

    def remove(self, id: str) -> bool:  # noqa: A002
        """Remove a page; False if it was not in the index."""
        return self._caller.send("DELETE", _page_path(id), missing=True).status_code == 204

    def clusters(self, **filters: str | int | datetime) -> Iterator[ClusterSummary]:
        """Summaries of all clusters that match (smallest, host, search, since, sort)."""
        params = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in filters.items()
        }
        for answer in self._parts("/v1/clusters", params):
            yield from (record_from(ClusterSummary, each) for each in answer["clusters"])

    def members(self, name: str) -> list[StoredPage]:
        """The pages of a cluster, in the order they were added."""
        parts = self._parts(_cluster_path(name), {"limit": 1_000}, missing=True)
        return [record_from(StoredPage, each) for part in parts for each in part["members"]]

    def history(self, name: str) -> list[Event]:
        """The events of a cluster."""
        answer = self._caller.json("GET", _cluster_path(name), params={"limit": 1}, missing=True)
        return [] if answer is None else [record_from(Event, each) for each in answer["history"]]

    def changes(
        self, since: int = 0, *, kinds: Sequence[str] = MAIN_CHANGES, most: int = 1_000
    ) -> Changes:
        """What happened to clusters after change number `since`; see `Index.changes`."""
        params = {"since": since, "kinds": ",".join(kinds), "limit": most}
        answer = self._caller.json("GET", "/v1/changes", params=params)
        listed = [record_from(Change, each) for each in answer["changes"]]
        return Changes(listed, answer["next"], answer["more"])

    def stats(self) -> dict[str, Any]:
        """Counts over the whole index."""
        return dict(self._caller.json("GET", "/v1/stats"))

    def is_ready(self) -> bool:
        """Whether the service can be reached and its store answers."""
        return self._caller.reaches("/readyz")

    # Feedback

    def give_feedback(self, a: str, b: str, *, duplicate: bool, note: str = "") -> Feedback:
        """A person's decision on a pair, which overrides the method."""
        body = {"a": a, "b": b, "duplicate": duplicate, "note": note}
        return record_from(Feedback, self._caller.json("POST", "/v1/feedback", body=body))

    def take_back_feedback(self, a: str, b: str) -> bool:
        """Withdraw feedback, so that the method decides again; False if there was none."""
        params = {"a": a, "b": b}
        response = self._caller.send("DELETE", "/v1/feedback", params=params, missing=True)
        return response.status_code == 204

    def feedback(self) -> list[Feedback]:
        """All feedback, oldest first."""
        return [record_from(Feedback, each) for each in self._caller.json("GET", "/v1/feedback")]

    def labelled_pairs(self) -> str:
        """All feedback as a CSV for `neardup tune` and `neardup evaluate`."""
        return self._caller.send("GET", "/v1/feedback/pairs.csv").text

    def _send_page(self, page: RawPage, *, dry_run: bool) -> Answer:
        return answer_from(self._send_lines(page_line(page), "application/json", dry_run).json())

    def _send_lines(self, lines: bytes, kind: str, dry_run: bool) -> httpx.Response:
        params = {"dry_run": dry_run}
        return self._caller.send("POST", "/v1/pages", params=params, content=lines, kind=kind)

    def _parts(
        self, path: str, params: Mapping[str, Any], *, missing: bool = False
    ) -> Iterator[Any]:
        """The answers about a long list, part by part; with `missing`, none for a 404."""
        skip: int | None = 0
        while skip is not None:
            part = self._caller.json("GET", path, params={**params, "skip": skip}, missing=missing)
            if part is None:
                return
            yield part
            skip = part["next"]


def _page_path(id_: str) -> str:
    return f"/v1/pages/{quote(id_, safe='')}"


def _cluster_path(name: str) -> str:
    return f"/v1/clusters/{quote(name, safe='')}"


class Caller:
    """Sends requests to one service and retries them."""

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
        """Whether a GET of the path succeeds now."""
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
        """The JSON of a response; with `missing`, None for a 404."""
        content = None if body is None else json.dumps(body).encode()
        kind = "" if body is None else "application/json"
        response = self.send(
            method, path, params=params, content=content, kind=kind, missing=missing
        )
        return None if response.status_code == 404 else response.json()

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
        """The response after retries; with `missing`, a 404 is not an error."""
        headers = {"Content-Type": kind} if kind else {}
        if content is not None and len(content) > WORTH_COMPRESSING:
            content = gzip.compress(content, 1)
            headers["Content-Encoding"] = "gzip"
        request = self.http.build_request(
            method, path, params=params, content=content, headers=headers
        )
        response = self._with_retries(request)
        if response.is_success or (missing and response.status_code == 404):
            return response
        raise _refusal(response)

    def _with_retries(self, request: httpx.Request) -> httpx.Response:
        tried = 0
        while True:
            try:
                response = self.http.send(request)
                if response.status_code not in NOT_NOW or tried == self._retries:
                    return response
                retry_after = response.headers.get("retry-after", "")
            except httpx.TransportError as error:
                if tried == self._retries:
                    detail = f"{self.http.base_url} cannot be reached: {error}"
                    raise ServiceError(0, "unreachable", detail) from error
                retry_after = ""
            time.sleep(_pause(tried, retry_after))
            tried += 1


def _pause(tried: int, retry_after: str) -> float:
    """Seconds to wait: as the service asks, or exponential back-off; with jitter."""
    seconds = float(retry_after) if retry_after.isdecimal() else 0.1 * 2**tried
    return min(seconds, LONGEST_PAUSE) * random.uniform(0.75, 1.25)


def _refusal(response: httpx.Response) -> ServiceError:
    try:
        problem = response.json()
        return ServiceError(response.status_code, problem["code"], problem["detail"])
    except (ValueError, KeyError, TypeError):
        return ServiceError(response.status_code, "unknown", response.reason_phrase)


def page_line(page: RawPage) -> bytes:
    return json.dumps(sent_fields(page)).encode() + b"\n"


def sent_fields(page: RawPage) -> dict[str, str]:
    """A page as the service reads it; decoded here, where its charset is known."""
    text = to_utf8(page.body, page.charset)[0].decode()
    return {name: json_value(value) for name, value in page_fields(page, text).items()}


def side_fields(side: RawPage | str) -> dict[str, str]:
    """A page to compare, or the id of a stored one."""
    return {"id": side} if isinstance(side, str) else sent_fields(side)


def answer_from(values: dict[str, Any]) -> Answer:
    relation = values["relation"]
    return Answer(**{**values, "relation": None if relation is None else Relation(relation)})


def record_from(kind: type[Record], record: Mapping[str, Any]) -> Record:
    """A record of the index from its JSON, with times as `datetime`."""
    values = {field.name: record[field.name] for field in fields(kind)}  # type: ignore[arg-type]
    for name in ("at", "time", "added", "seen", "created", "changed"):
        if isinstance(values.get(name), str):
            values[name] = datetime.fromisoformat(values[name])
    return kind(**values)
