"""Pages and records of the index on their way over the wire, as the client sees them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar

from neardup.index import Answer
from neardup.model import RawPage, Relation
from neardup.pages.times import format_time
from neardup.text.charset import to_utf8

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
