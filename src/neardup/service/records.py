"""What goes over the wire. Answers are those of the index, field by field."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from neardup.index import Answer, ClusterSummary, Event, Feedback, StoredPage
from neardup.model import RawPage, Relation, Skip, Source
from neardup.pages import Limits
from neardup.pages.fields import page_from_fields, parse_time, to_bytes
from neardup.pages.jsonl import read_lines
from neardup.pages.streams import Chunk, Chunks
from neardup.service.problems import Problem

BODY = "(request)"  # where pages of a request come from; nobody's id begins so
LONGEST_ID = 10_000


class PageIn(BaseModel):
    """A page to add, or to compare: its HTML or its text."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)  # ids may be numbers

    id: str = Field("", description="the page's own name; default: its URL", max_length=LONGEST_ID)
    url: str = Field("", description="where it was found; it is never fetched")
    html: str | None = None
    text: str | None = Field(None, description="plain text, in place of HTML")
    title: str = ""
    time: str | int | float | None = Field(
        None, description="ISO 8601, or seconds or milliseconds since 1970"
    )


class Skipped(BaseModel):
    """A line that is no page, and why."""

    line: int = Field(description="counted from 1")
    id: str
    skipped: str = Field(description="such as bad-json, no-content, too-large, no-id")
    detail: str


class CompareIn(BaseModel):
    """Two pages: each as content, or by its id alone if it is stored."""

    a: PageIn
    b: PageIn
    method: str = Field("own-text", description="a method's name, or all")
    preset: Literal["default", "paper"] = "default"
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="of the method; not with all"
    )


class VerdictOut(BaseModel):
    """What page a is to page b, by one method."""

    method: str
    relation: Relation
    similarity: float | None
    evidence: dict[str, Any]


class FeedbackIn(BaseModel):
    """What a person says of a pair of stored pages."""

    a: str = Field(min_length=1, max_length=LONGEST_ID)
    b: str = Field(min_length=1, max_length=LONGEST_ID)
    duplicate: bool = Field(description="whether they are one page to a reader")
    note: str = Field("", max_length=2_000)


class Compared(BaseModel):
    """Every verdict asked for; a person's word on two stored pages goes before them."""

    verdicts: list[VerdictOut]
    feedback: Feedback | None = None


class PageOut(BaseModel):
    """A stored page; its text only if asked for and kept."""

    page: StoredPage
    text: str | None = None


class ClusterList(BaseModel):
    """Some clusters, and where the next ones begin."""

    clusters: list[ClusterSummary]
    next: int | None = Field(None, description="the `skip` of the next part; null: no more")


class ClusterOut(BaseModel):
    """A cluster with its pages, in the order in which they came."""

    name: str
    size: int
    kept: str
    members: list[StoredPage]
    next: int | None = Field(None, description="the `skip` of more members; null: no more")
    history: list[Event] = Field(description="the last thousand events, oldest first")


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
    sizes: dict[str, int] | None = Field(None, description="bytes in the store by part")


class State(BaseModel):
    """Whether the service is up."""

    status: Literal["ok", "ready"]


ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def answer_line(given: Answer | Skipped) -> bytes:
    """An answer as one line of JSON, without its end."""
    if isinstance(given, Skipped):
        return given.model_dump_json().encode()
    return ANSWER.dump_json(given)


def plain_id(text: str) -> str:
    """An id as the index keeps it: no NUL, no halves of characters."""
    return to_bytes(text).decode().replace("\0", "\ufffd")


def page_from(given: PageIn, limits: Limits, name: str = "") -> RawPage:
    """The page of a request, or the problem with it; `name` is for a page without an id."""
    found = page_from_fields(given.model_dump(), Source(BODY), limits)
    if isinstance(found, Skip):
        raise refused(found)
    if not given.id and not given.url:
        if not name:
            raise Problem(422, "no-id", "a page needs an id or a url")
        return RawPage(name, found.body, found.is_html, found.source, title=found.title)
    return found


def refused(skip: Skip) -> Problem:
    """Why a single page is not taken."""
    status = 413 if skip.reason == "too-large" else 422
    return Problem(status, str(skip.reason), skip.detail or str(skip.reason))


def pages_from_lines(body: bytes, limits: Limits) -> list[RawPage | Skipped]:
    """The pages of an NDJSON body; a line that is none says why."""
    chunks = Chunks(iter([Chunk(body, opens=True)] if body else []))
    return [_with_id(found) for found in read_lines(BODY, chunks, limits)]


def _with_id(found: RawPage | Skip) -> RawPage | Skipped:
    line = found.source.record + 1
    if isinstance(found, Skip):
        own = "" if found.id.startswith(BODY) else found.id
        return Skipped(line=line, id=own, skipped=str(found.reason), detail=found.detail)
    if found.again:
        return Skipped(line=line, id="", skipped="no-id", detail="a page needs an id or a url")
    if len(found.id) > LONGEST_ID:
        detail = f"an id may have {LONGEST_ID:,} characters"
        return Skipped(line=line, id="", skipped="too-large", detail=detail)
    return found


def as_time(value: str | None) -> datetime | None:
    """A time that a parameter names."""
    if value is None:
        return None
    found = parse_time(value)
    if found is None:
        raise Problem(422, "invalid", "a time is written as 2024-05-01 or 2024-05-01T12:00:00Z")
    return found
