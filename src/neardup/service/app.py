"""The application: the API, the review pages and the middleware around them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from neardup.api import html_page
from neardup.errors import StoreError, UsageError
from neardup.index import Index
from neardup.service.api import api_routes
from neardup.service.connections import ThrottledErrors
from neardup.service.logs import LOG, Metrics, described
from neardup.service.middleware import Bounds, Frame, Guards
from neardup.service.problems import Problem, busy, invalid, problem_response
from neardup.service.review import review_routes
from neardup.service.review.clusters import FindingsCache
from neardup.service.review.visits import LoginNeededError, error_page, to_login, wants_page
from neardup.service.service import Service, Workers
from neardup.service.settings import Settings
from neardup.service.tokens import Tokens, read_tokens
from neardup.service.webhooks import SECRET, Webhooks

ENVIRONMENT = "NEARDUP_SERVICE"  # where `neardup serve` puts the settings for its workers
SWITCH = 0.001  # seconds after which a thread yields the interpreter to the event loop
ABOUT = """Find out whether a page is new or a duplicate, and of what. Pages are sent with their
content; the service never fetches a URL. Adding a page again changes nothing. Errors are
`application/problem+json` (RFC 9457); after a 503, retry after the time in `Retry-After`."""


def from_environment() -> FastAPI:
    """The application of a worker process."""
    settings = Settings.from_json(os.environ[ENVIRONMENT])
    sys.setswitchinterval(SWITCH)
    return create_app(settings, read_tokens(settings.token_file, os.environ))


def create_app(settings: Settings, tokens: Tokens) -> FastAPI:
    """The service; the store in the settings is opened when it starts."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        asyncio.get_running_loop().set_exception_handler(ThrottledErrors())
        index = await asyncio.to_thread(_open, settings.store)
        workers = Workers(index, settings.threads, settings.seconds, metrics)
        app.state.service = Service(settings, tokens, metrics, index, workers)
        app.state.findings = FindingsCache(index)
        secret = os.environ.get(SECRET, "")
        hooks = Webhooks(index, settings.webhooks, settings.webhook_kinds, secret, metrics)
        yield
        await asyncio.to_thread(hooks.close)
        if not await asyncio.to_thread(workers.close):
            # All writes are committed; a thread that still reads cannot be stopped otherwise.
            LOG.warning("ended with work under way")
            os._exit(0)
        index.close()

    app = FastAPI(
        title="neardup",
        description=ABOUT,
        version=version("neardup"),
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own page loads scripts from a CDN
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.include_router(api_routes())
    app.include_router(review_routes())
    _answer_errors(app)
    app.add_middleware(Bounds, settings=settings, metrics=metrics, tokens=tokens)
    app.add_middleware(Guards, settings=settings, tokens=tokens)
    app.add_middleware(Frame, metrics=metrics)
    return app


def _open(store: str) -> Index:
    """The index with its kernels compiled, so that the first request is as fast as others."""
    index = Index.open(store)
    index.query(html_page("<p>A page to begin with, never stored.</p>", id="(first)"))
    return index


def _answer_errors(app: FastAPI) -> None:
    async def report(request: Request, error: Exception) -> Response:
        problem = as_problem(error)
        if problem.status_code >= 500 and not isinstance(error, HTTPException):
            fields = {"request": request.scope.get("request_id"), **described(error)}
            LOG.error("failed", extra={"fields": fields})
        if isinstance(problem, Problem):
            request.app.state.service.metrics.refused.labels(problem.code).inc()
        if wants_page(request):
            return error_page(request, problem)
        return problem_response(problem, request.scope.get("request_id", ""))

    async def send_to_login(request: Request, error: Exception) -> Response:
        assert isinstance(error, LoginNeededError)
        return to_login(error)

    app.add_exception_handler(LoginNeededError, send_to_login)
    for kind in (RequestValidationError, StarletteHTTPException, UsageError, StoreError):
        app.add_exception_handler(kind, report)


def as_problem(error: Exception) -> HTTPException:
    """The problem that is reported for an error."""
    if isinstance(error, RequestValidationError):
        return invalid(error)
    if isinstance(error, UsageError):
        return Problem(422, "invalid", str(error))
    if isinstance(error, StoreError):
        return busy("store", "the store is not available at the moment; its contents are intact", 5)
    if isinstance(error, HTTPException):
        return error
    assert isinstance(error, StarletteHTTPException)
    return HTTPException(error.status_code, error.detail, dict(error.headers or {}))
