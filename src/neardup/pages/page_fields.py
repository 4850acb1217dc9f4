"""A page as named fields, for forms that hold columns or JSON values."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from typing import Any

from neardup.errors import OutputError
from neardup.model import RawPage
from neardup.pages.original import JsonLine, ParquetRow
from neardup.pages.times import format_time

FIELDS = ("id", "url", "title", "time", "html", "text")


def text_of(raw: RawPage, html_text: str | None) -> str:
    """The content as text: as given, or as the UTF-8 it is."""
    if html_text is not None:
        return html_text
    try:
        return raw.body.decode()
    except UnicodeDecodeError:
        raise OutputError(f"{raw.id}: its content is not UTF-8, and this form holds text") from None


def page_fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    """What is known of a page from any reader, without what is empty; `time` is a datetime."""
    stated = {"id": raw.id, "url": raw.url, "title": raw.title, "time": raw.time}
    fields: dict[str, Any] = {name: value for name, value in stated.items() if value}
    return {**fields, "html" if raw.is_html else "text": text_of(raw, html_text)}


def row_fields(original: ParquetRow) -> dict[str, Any]:
    """All columns of a Parquet row."""
    try:
        row: dict[str, Any] = original.batch.slice(original.row, 1).to_pylist()[0]
    except ValueError as error:  # nanoseconds, for which Python has no type
        raise OutputError(f"a Parquet row has no other form: {error}") from None
    return row


def json_fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    """A page as JSON values; a Parquet row with all its columns."""
    rest = row_fields(raw.original) if isinstance(raw.original, ParquetRow) else {}
    fields = {**rest, **page_fields(raw, html_text)}
    return {name: _json_value(value) for name, value in fields.items() if value is not None}


def extra_fields(raw: RawPage) -> str | None:
    """The fields of a JSON line that are none of neardup's, as JSON."""
    if not isinstance(raw.original, JsonLine):
        return None
    fields = json.loads(raw.original.line)
    rest = {name: value for name, value in fields.items() if name not in FIELDS}
    return json.dumps(rest, sort_keys=True) if rest else None


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_time(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return _text_or_base64(value)
    if isinstance(value, dict):
        return {str(name): _json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text_or_base64(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
