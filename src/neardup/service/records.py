"""The records of the API besides those of the index, and how pages are read from a request."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.convertors import Convertor, register_url_convertor

from neardup.index import Answer, ClusterSummary, Event, Feedback, StoredPage
from neardup.kernels.json_text import count_values
from neardup.methods.registry import DEFAULT_METHOD
from neardup.model import RawPage, Relation, Skip, Source
from neardup.pages import Limits
from neardup.pages.fields import page_from_fields, parse_time, to_bytes
from neardup.pages.jsonl import read_lines
from neardup.pages.streams import Chunk, Chunks
from neardup.service.problems import Problem, invalid

BODY = "(request)"  # the source of pages of a request; no id begins like this
LONGEST_ID = 10_000
MOST_VALUES = 100_000  # in the body of a request; a page has seven

Record = TypeVar("Record", bound=BaseModel)


class PageIn(BaseModel):
    """A page to add, or to compare: its HTML or its text."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)  # ids may be numbers

    id: str = Field("", description="the id of the page; default: its URL", max_length=LONGEST_ID)
    url: str = Field("", description="where the page was found; never fetched")
    html: str | None = None
    text: str | None = Field(None, description="plain text instead of HTML")
    title: str = ""
    time: str | int | float | None = Field(
        None, description="ISO 8601, or seconds or milliseconds since 1970"
    )


class Skipped(BaseModel):
    """A line that could not be read as a page, and why."""

    line: int = Field(description="counted from 1")
    id: str
    skipped: str = Field(description="the reason: bad-json, no-content, too-large, no-id, refused")
    detail: str


class CompareIn(BaseModel):
    """Two pages, each with its content or, if it is stored, only its id."""

    a: PageIn
    b: PageIn
    method: str = Field(DEFAULT_METHOD, description="a method's name, or all")
    preset: Literal["default", "paper"] = "default"
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="options of the method; not with all"
    )


class VerdictOut(BaseModel):
    """The relation of page a to page b, by one method."""

    method: str
    relation: Relation
    similarity: float | None
    evidence: dict[str, Any]


class FeedbackIn(BaseModel):
    """A person's decision on a pair of stored pages."""

    a: str = Field(min_length=1, max_length=LONGEST_ID)
    b: str = Field(min_length=1, max_length=LONGEST_ID)
    duplicate: bool = Field(description="whether a reader would consider them the same")
    note: str = Field("", max_length=2_000)


class Compared(BaseModel):
    """The verdicts; feedback on two stored pages overrides them."""

    verdicts: list[VerdictOut]
    feedback: Feedback | None = None


class PageOut(BaseModel):
    """A stored page; its text only if requested and kept."""

    page: StoredPage
    text: str | None = None


class ClusterList(BaseModel):
    """Some clusters, and where the next ones start."""

    clusters: list[ClusterSummary]
    next: int | None = Field(None, description="`skip` for the next clusters; null at the end")


class ClusterOut(BaseModel):
    """A cluster with its pages, in the order they were added."""

    name: str
    size: int
    kept: str
    members: list[StoredPage]
    next: int | None = Field(None, description="`skip` for the next members; null at the end")
    history: list[Event] = Field(description="the latest thousand events, oldest first")


class StatsOut(BaseModel):
    """Counts over the whole index."""

    method: str
    pages: int
    clusters: int
    duplicates: int
    undecided: int
    hosts: int
    pairs: dict[str, int]
    feedback: int
    sizes: dict[str, int] | None = Field(None, description="bytes in the store, by table")


class State(BaseModel):
    """Whether the service is up."""

    status: Literal["ok", "ready"]


class PageIdConvertor(Convertor[str]):
    """The rest of a path, including line ends, where Starlette's own `path` stops."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("page_id", PageIdConvertor())

ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def answer_line(answer: Answer | Skipped) -> bytes:
    """An answer as one line of JSON, without the line break."""
    if isinstance(answer, Skipped):
        return answer.model_dump_json().encode()
    return ANSWER.dump_json(answer, exclude={"refused"})


def or_skipped(answer: Answer, page: RawPage) -> Answer | Skipped:
    """The answer to the page of a line, unless the store refused the page."""
    if answer.refused is None:
        return answer
    line = page.source.record + 1
    return Skipped(line=line, id=answer.id, skipped="refused", detail=answer.refused)


def plain_id(text: str) -> str:
    """An id as the index keeps it, without NUL and unpaired surrogates."""
    return to_bytes(text).decode().replace("\0", "\ufffd")


def page_from(page: PageIn, limits: Limits, name: str = "") -> RawPage:
    """The page of a request; `name` is the id of a page without one."""
    parsed = page_from_fields(page.model_dump(), Source(BODY), limits)
    if isinstance(parsed, Skip):
        status = 413 if parsed.reason == "too-large" else 422
        raise Problem(status, str(parsed.reason), parsed.detail or str(parsed.reason))
    if not page.id and not page.url:
        if not name:
            raise Problem(422, "no-id", "a page needs an id or a url")
        return RawPage(name, parsed.body, parsed.is_html, parsed.source, title=parsed.title)
    return parsed


def check_size(body: bytes, limits: Limits, page: str = "the content") -> None:
    """Refuse a raw page without content or with too much of it."""
    if not body:
        raise Problem(422, "empty", f"{page} is empty")
    if len(body) > limits.page_bytes:
        raise Problem(413, "too-large", f"at most {limits.page_bytes:,} bytes per page")


def pages_from_lines(body: bytes, limits: Limits, most: int) -> list[RawPage | Skipped]:
    """The pages of an NDJSON body, or why a line is not a page; at most `most` + 1 of them."""
    chunks = Chunks(iter([Chunk(body, opens=True)] if body else []))
    return [_with_id(record) for record in islice(read_lines(BODY, chunks, limits), most + 1)]


def _with_id(record: RawPage | Skip) -> RawPage | Skipped:
    line = record.source.record + 1
    if isinstance(record, Skip):
        id_ = "" if record.id.startswith(BODY) else record.id
        return Skipped(line=line, id=id_, skipped=str(record.reason), detail=record.detail)
    if record.again:
        return Skipped(line=line, id="", skipped="no-id", detail="a page needs an id or a url")
    if len(record.id) > LONGEST_ID:
        detail = f"an id may have at most {LONGEST_ID:,} characters"
        return Skipped(line=line, id="", skipped="too-large", detail=detail)
    return record


def validated(model: type[Record], body: bytes) -> Record:
    """A body as a record, or the problem with it.

    Bodies of very many values are refused: a parser holds the interpreter lock until it has read
    all of them, in whatever thread it runs. Long texts cost it little.
    """
    if len(body) > MOST_VALUES and count_values(np.frombuffer(body, np.uint8)) > MOST_VALUES:
        detail = f"the body has more than {MOST_VALUES:,} values"
        raise Problem(422, "too-many-values", detail)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error, "body") from None


def body_of(schema: dict[str, Any]) -> dict[str, Any]:
    """How the OpenAPI description shows a body that a route reads itself."""
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def as_time(value: str | None) -> datetime | None:
    if value is None:
        return None
    time = parse_time(value)
    if time is None:
        raise Problem(422, "invalid", "write a time as 2024-05-01 or 2024-05-01T12:00:00Z")
    return time
