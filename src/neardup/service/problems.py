"""Errors as `application/problem+json`, the format of RFC 9457."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 500


class ProblemDetails(BaseModel):
    """What is wrong with a request, or with the service."""

    type: str = Field("about:blank", description="always about:blank; see `code`")
    title: str = Field(description="the status in words")
    status: int
    detail: str = Field(description="what is wrong with this request, and what to do")
    code: str = Field(description="the reason for programs, such as too-large or busy")
    request: str = Field(description="the id of the request in the log")


class Problem(HTTPException):
    """A request that cannot be answered. `code` is the reason for programs."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.code = code


def busy(code: str, detail: str, seconds: float = 1.0) -> Problem:
    """A problem that goes away: the client may retry after some seconds."""
    return Problem(503, code, detail, {"Retry-After": str(math.ceil(seconds))})


def not_found(detail: str) -> Problem:
    """A page, cluster or file that does not exist."""
    return Problem(404, "not-found", detail)


def problem_response(problem: HTTPException, request_id: str) -> Response:
    title = HTTPStatus(problem.status_code).phrase
    details: dict[str, Any] = {
        "type": "about:blank",
        "title": title,
        "status": problem.status_code,
        "detail": str(problem.detail)[:LONGEST_DETAIL],
        "code": getattr(problem, "code", title.lower().replace(" ", "-")),
        "request": request_id,
    }
    return Response(
        json.dumps(details),
        status_code=problem.status_code,
        media_type=MEDIA_TYPE,
        headers=dict(problem.headers or {}),
    )


def invalid(error: RequestValidationError | ValidationError, *place: str) -> Problem:
    """The first error in the parameters or the body, without repeating what was sent.

    `place` is where the input is in the request, unless the error says so.
    """
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, "bad-json", "the body is not JSON")
    location = ".".join(map(str, [*place, *first["loc"]]))
    return Problem(422, "invalid", f"{location}: {first['msg']}")


_DESCRIPTIONS = {
    400: "The body cannot be read.",
    401: "A token is required.",
    403: "The token does not allow this, or the request comes from another site.",
    404: "Not found.",
    408: "The body did not arrive in time.",
    409: "The store keeps no texts.",
    413: "The body, a page or a batch is too large.",
    415: "Unsupported content type or encoding.",
    421: "The service does not answer to this host name.",
    422: "A parameter or the body is invalid.",
    500: "The service failed.",
    503: "The service is busy; retry after the time in `Retry-After`.",
}
_EVERYWHERE = (400, 401, 403, 421, 422, 500, 503)


def problem_responses(*more: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route documents in the OpenAPI description."""
    content = {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema()}}
    return {
        status: {"description": _DESCRIPTIONS[status], "content": content}
        for status in sorted({*_EVERYWHERE, *more})
    }
