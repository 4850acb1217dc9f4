"""A problem as a page, for people; programs get it as JSON."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import HTTPException, Request
from starlette.responses import Response

from neardup.service.review.rendering import render
from neardup.service.review.visits import visit_of

FOR_PROGRAMS = ("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json")


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page."""
    if request.url.path.startswith(FOR_PROGRAMS):
        return False
    return "text/html" in request.headers.get("accept", "")


def error_page(request: Request, problem: HTTPException) -> Response:
    """What went wrong, in words."""
    response = render(
        visit_of(request),
        "error.html",
        problem.status_code,
        phrase=HTTPStatus(problem.status_code).phrase,
        code=problem.status_code,
        detail=str(problem.detail),
        number=request.scope.get("request_id", ""),
    )
    response.headers.update(problem.headers or {})
    return response
