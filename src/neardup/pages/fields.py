"""Records as named fields: from JSON values or table cells to a page, and back.

`page_from_fields` makes a page of `id`, `url`, `html` or `text`, `title` and `time`, whatever the
record's format. `json_fields` and `page_fields` do the reverse, for writing pages. Readers that
keep originals attach the record in its own format (`JsonLine`, `TableRow`, `WarcBytes`). Times
always have a time zone; a time that cannot be read counts as missing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from neardup.errors import OutputError
from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.limits import FIELD_LENGTH, URL_LENGTH, Limits

_MILLISECONDS = 1e11  # the year 5138 in seconds: a larger number is in milliseconds


def parse_time(value: object) -> datetime | None:
    """Parse ISO 8601, epoch seconds or milliseconds, or a datetime; without a zone it is UTC."""
    try:
        if isinstance(value, bytes):  # text of a table
            value = value.decode()
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) > _MILLISECONDS else value
            value = datetime.fromtimestamp(seconds, UTC)
        if not isinstance(value, datetime):
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_arc_time(digits: str) -> datetime | None:
    """Parse the YYYYMMDDhhmmss of an ARC header."""
    try:
        return datetime.strptime(digits[:14].ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def format_time(time: datetime) -> str:
    """ISO 8601 in UTC, as WARC writes it."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class JsonLine:
    """The line without its end."""

    line: bytes


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a `pyarrow.RecordBatch`, with all columns of its file."""

    batch: Any
    row: int


@dataclass(frozen=True, slots=True)
class WarcBytes:
    """A whole WARC record: head, block and the two line ends after it."""

    record: bytes


_UTF_8 = {"html": "utf-8", "text": "utf-8"}


def page_from_fields(
    fields: Mapping[str, object],
    source: Source,
    limits: Limits,
    original: object = None,
    charsets: Mapping[str, str] = _UTF_8,
) -> RawPage | Skip:
    """A page from `id`, `url`, `html` or `text`, `title` and `time`.

    `charsets` has the charsets of `html` and `text`.
    """
    url = _text(fields.get("url"))
    name = f"{source.path.rpartition('/')[2]}:{source.record}"
    identity = _identity(fields.get("id")) or url or name
    title = _text(fields.get("title"))
    if len(url) > URL_LENGTH:
        return long_url(source, url)
    for what, value in (("id", identity), ("title", title)):
        if len(value) > FIELD_LENGTH:
            detail = f"{what} of {len(value):,} characters; the limit is {FIELD_LENGTH:,}"
            return Skip(source, SkipReason.TOO_LARGE, detail, identity[:200])
    content = _content(fields)
    if content is None:
        return Skip(source, SkipReason.NO_CONTENT, "neither html nor text", identity)
    body, is_html = content
    if not body:
        return Skip(source, SkipReason.EMPTY, "the content is empty", identity)
    if len(body) > limits.page_bytes:
        detail = f"above {limits.page_bytes} bytes"
        return Skip(source, SkipReason.TOO_LARGE, detail, identity)
    return RawPage(
        id=identity,
        body=body,
        is_html=is_html,
        source=source,
        url=url,
        # Two files with the same name may both lack ids; their paths make the ids distinct
        again=f"{source.path}:{source.record}" if identity == name else "",
        title=title,
        time=parse_time(fields.get("time")),
        charset=charsets.get("html" if is_html else "text", ""),
        original=original,
    )


def long_url(source: Source, url: str) -> Skip:
    """The skip of a record whose URL is too long; it names the beginning of the URL."""
    detail = f"a URL of {len(url):,} characters; the limit is {URL_LENGTH:,}"
    return Skip(source, SkipReason.LONG_URL, detail, url[:200] + "…")


def _content(fields: Mapping[str, object]) -> tuple[bytes, bool] | None:
    """The html, or else the text; an empty one only if there is no other."""
    content: tuple[bytes, bool] | None = None
    for name in ("html", "text"):
        value = fields.get(name)
        if isinstance(value, str):
            value = to_bytes(value)
        if isinstance(value, bytes) and (value or content is None):
            content = value, name == "html"
            if value:
                return content
    return content


def to_bytes(text: str) -> bytes:
    """UTF-8, with U+FFFD for lone surrogates (JSON escapes can hold them)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return to_bytes(value).decode() if isinstance(value, str) else ""


def _identity(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _text(value)


FIELDS = ("id", "url", "title", "time", "html", "text")


def text_of(raw: RawPage, html_text: str | None) -> str:
    """The content as text: `html_text`, or the body decoded as UTF-8."""
    if html_text is not None:
        return html_text
    try:
        return raw.body.decode()
    except UnicodeDecodeError:
        raise OutputError(f"{raw.id}: not UTF-8, and this format holds text") from None


def page_fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    """The non-empty fields of a page from any reader; `time` is a datetime."""
    fields = {"id": raw.id, "url": raw.url, "title": raw.title, "time": raw.time}
    fields = {name: value for name, value in fields.items() if value}
    return {**fields, "html" if raw.is_html else "text": text_of(raw, html_text)}


def row_fields(original: TableRow) -> dict[str, Any]:
    row = original.batch.slice(original.row, 1)
    return {name: _cell(row.column(name)) for name in row.schema.names}


def _cell(column: Any) -> Any:
    """The value of a column in one row; as text if Python cannot represent it."""
    import pyarrow as pa  # noqa: PLC0415 - heavy

    try:
        return column[0].as_py()
    except (ValueError, OverflowError) as error:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        try:
            if pa.types.is_temporal(kind):  # nanoseconds, or a year beyond 9999
                return column.cast(kind).cast(pa.string())[0].as_py()
            return column.cast(kind).cast(pa.large_binary())[0].as_py().decode("utf-8", "replace")
        except pa.ArrowException:
            raise OutputError(f"a value of a Parquet row cannot be written: {error}") from None


def json_fields(raw: RawPage, html_text: str | None) -> dict[str, Any]:
    """A page as JSON values; a row of a table with all its columns."""
    fields = page_fields(raw, html_text)
    if isinstance(raw.original, TableRow):
        row = row_fields(raw.original)
        content = "html" if raw.is_html else "text"
        text = fields.pop(content)
        fields = row | {name: value for name, value in fields.items() if name not in row}
        if content in row:  # decoded; in the table it may be bytes of any charset
            fields[content] = text
    return {name: json_value(value) for name, value in fields.items() if value is not None}


def extra_fields(raw: RawPage) -> str | None:
    """The fields of a JSON line that neardup does not know, as JSON."""
    if not isinstance(raw.original, JsonLine):
        return None
    fields = json.loads(raw.original.line)
    rest = {name: value for name, value in fields.items() if name not in FIELDS}
    return json.dumps(rest, sort_keys=True) if rest else None


def json_value(value: Any) -> Any:
    """A value of a table as JSON and CSV can hold it."""
    if isinstance(value, datetime):
        return format_time(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return _text_or_base64(value)
    if isinstance(value, dict):
        return {str(name): json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text_or_base64(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
