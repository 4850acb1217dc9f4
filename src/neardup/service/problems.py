"""Everything that goes wrong, told as RFC 9457 says: `application/problem+json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 500


class ProblemDetails(BaseModel):
    """What is wrong with a request, or with the service."""

    type: str = Field("about:blank", description="always about:blank: `code` tells more")
    title: str = Field(description="the status in words")
    status: int
    detail: str = Field(description="what is wrong with this request, and what to do")
    code: str = Field(description="a word for programs, such as too-large or busy")
    request: str = Field(description="the request's number in the log")


class Problem(HTTPException):
    """A request that cannot be answered as asked. `code` is the word for programs."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code


def busy(code: str, detail: str, seconds: float = 1.0) -> Problem:
    """Not now: to be tried again after some seconds."""
    return Problem(503, code, detail, {"Retry-After": str(math.ceil(seconds))})


def not_found(what: str) -> Problem:
    """Something that is not here."""
    return Problem(404, "not-found", what)


def problem_response(problem: HTTPException, request_id: str) -> Response:
    """A problem as it is sent."""
    headers = dict(problem.headers or {})
    return Response(
        problem_body(problem, request_id),
        status_code=problem.status_code,
        media_type=MEDIA_TYPE,
        headers=headers,
    )


def problem_body(problem: HTTPException, request_id: str) -> bytes:
    """The JSON of a problem."""
    title = HTTPStatus(problem.status_code).phrase
    told: dict[str, Any] = {
        "type": "about:blank",
        "title": title,
        "status": problem.status_code,
        "detail": str(problem.detail)[:LONGEST_DETAIL],
        "code": getattr(problem, "code", title.lower().replace(" ", "-")),
        "request": request_id,
    }
    return json.dumps(told).encode()


def invalid(error: RequestValidationError) -> Problem:
    """The first thing that is wrong with parameters or a body; what was sent is not repeated."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return Problem(400, "bad-json", "the body is not JSON")
    return Problem(422, "invalid", f"{place}: {first['msg']}")
