"""Requests with patience: what a service had no room for is sent again."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Mapping
from typing import Any

from neardup.errors import MissingExtraError, NeardupError

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
