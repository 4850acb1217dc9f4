"""/v1/pages: add pages, query them without adding, get one, remove one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from neardup.index import Answer, Index, StoredPage
from neardup.model import RawPage, Source
from neardup.pages import Limits
from neardup.pages.fields import parse_time
from neardup.pages.limits import URL_LENGTH
from neardup.service.problems import Problem, invalid, not_found, problem_responses
from neardup.service.records import (
    BODY,
    LONGEST_ID,
    PageIn,
    PageOut,
    Skipped,
    answer_line,
    check_size,
    or_skipped,
    page_from,
    pages_from_lines,
    plain_id,
    validated,
)
from neardup.service.service import (
    ACCESS,
    Running,
    Service,
    for_readers,
    for_writers,
    media_type,
    read_json,
    require,
    service_of,
)
from neardup.service.tokens import Access

router = APIRouter(prefix="/v1/pages", tags=["pages"])

NO_PAGE = "no page with that id in the index"
LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
PageId = Annotated[
    str, Path(description="percent-encoded, including slashes", min_length=1, max_length=LONGEST_ID)
]
_LINES_SCHEMA = {"type": "string", "description": "one page per line, each as in application/json"}
_RAW_SCHEMA = {"type": "string", "description": "needs ?url= or ?id="}


class AddQuery(BaseModel):
    """The parameters of a request that adds pages."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field("", description="of a raw page", max_length=URL_LENGTH)
    id: str = Field("", description="of a raw page", max_length=LONGEST_ID)
    time: str | None = Field(None, description="of a raw page, ISO 8601")
    dry_run: bool = Field(False, description="store nothing; read access is enough")


NO_QUERY = AddQuery()  # type: ignore[call-arg]
_REQUEST: dict[str, Any] = {
    "security": [{"HTTPBearer": []}],
    "parameters": [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in AddQuery.model_json_schema()["properties"].items()
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": PageIn.model_json_schema()},
            "text/html": {"schema": _RAW_SCHEMA},
            "text/plain": {"schema": _RAW_SCHEMA},
            LINES[0]: {"schema": _LINES_SCHEMA},
        },
    },
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; for NDJSON a line per page, an answer or `Skipped`, in order.",
        "content": {LINES[0]: {"schema": {"type": "string"}}},
    },
    **problem_responses(408, 413, 415),
}


@router.post("", response_model=Answer, responses=_ANSWERS, openapi_extra=_REQUEST)
async def add_pages(request: Request) -> Response:
    """Add one page or many, and report whether each is new or a duplicate, and of what.

    A page with a known id is the same page: with the same content nothing changes, with new content
    it replaces the earlier version. Once the answer arrives, the page is stored.
    """
    service, query = service_of(request), _query(request)
    require(request.scope[ACCESS], Access.READ if query.dry_run else Access.WRITE)
    kind, charset = media_type(request)
    body, limits = await request.body(), service.settings.limits
    if kind in LINES:
        most = service.settings.batch_pages
        lines = await service.workers.parse(pages_from_lines, body, limits, most)
        return await _answer_lines(service, lines, query.dry_run)
    if kind in ("text/html", "text/plain"):
        page = _raw_page(body, kind == "text/html", charset, query, limits)
    elif kind in ("application/json", ""):
        page = await read_json(request, lambda body: page_from(validated(PageIn, body), limits))
    else:
        detail = f"send application/json, text/html, text/plain or {LINES[0]}"
        raise Problem(415, "unknown-type", detail)
    answers = await _answer(service, [page], query.dry_run)
    if answers[0].refused:
        raise Problem(422, "refused", answers[0].refused)
    return Response(answer_line(answers[0]), media_type="application/json")


def _query(request: Request) -> AddQuery:
    """Crawlers send most requests here, without a query; FastAPI's own parsing is slower."""
    if not request.url.query:
        return NO_QUERY
    try:
        return AddQuery.model_validate(dict(request.query_params))
    except ValidationError as error:
        raise invalid(error, "query") from None


def _raw_page(body: bytes, is_html: bool, charset: str, query: AddQuery, limits: Limits) -> RawPage:
    if not query.id and not query.url:
        raise Problem(422, "no-id", "a raw page needs ?url= or ?id=")
    check_size(body, limits)
    return RawPage(
        query.id or query.url,
        body,
        is_html,
        Source(BODY),
        query.url,
        time=parse_time(query.time),
        charset=charset,
    )


async def _answer_lines(
    service: Service, lines: Sequence[RawPage | Skipped], dry_run: bool
) -> Response:
    most = service.settings.batch_pages
    if len(lines) > most:
        raise Problem(413, "too-many", f"at most {most:,} pages per request")
    pages = [each for each in lines if isinstance(each, RawPage)]
    answers = iter(await _answer(service, pages, dry_run))
    service.metrics.pages.labels("skipped").inc(len(lines) - len(pages))
    content = [
        answer_line(each if isinstance(each, Skipped) else or_skipped(next(answers), each)) + b"\n"
        for each in lines
    ]
    return Response(b"".join(content), media_type=LINES[0])


async def _answer(service: Service, pages: list[RawPage], dry_run: bool) -> list[Answer]:
    if not pages:
        return []
    if dry_run:
        return await service.workers.read(service.index.query_many, pages)
    answers = await service.workers.add(pages)
    for answer in answers:
        outcome = "known" if answer.known else "duplicate" if answer.duplicate else "new"
        outcome = "skipped" if answer.refused else outcome
        service.metrics.pages.labels(outcome).inc()
    return answers


@router.get("/{id:page_id}", **for_readers(404))
async def get_page(
    service: Running,
    id: PageId,  # noqa: A002
    text: Annotated[bool, Query(description="include the text")] = False,
) -> PageOut:
    """Get a stored page."""
    return await service.workers.read(_stored, service.index, plain_id(id), text)


def _stored(index: Index, id_: str, with_text: bool) -> PageOut:
    page = stored_page(index, id_)
    content = index.text(id_) if with_text else None
    return PageOut(page=page, text=content.text if content else None)


def stored_page(index: Index, id_: str) -> StoredPage:
    """A page of the index, or a problem without one."""
    page = index.page(id_)
    if page is None:
        raise not_found(NO_PAGE)
    return page


@router.delete("/{id:page_id}", status_code=204, **for_writers(404))
async def remove_page(service: Running, id: PageId) -> None:  # noqa: A002
    """Remove a page from the index; the rest of its cluster is judged again."""
    if not await service.workers.write(service.index.remove, plain_id(id)):
        raise not_found(NO_PAGE)
