"""The fields of a record, whatever it came in: JSON values or Parquet cells."""

from __future__ import annotations

from collections.abc import Mapping

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.limits import Limits
from neardup.pages.times import parse_time

_UTF_8 = {"html": "utf-8", "text": "utf-8"}


def page_from_fields(
    fields: Mapping[str, object],
    source: Source,
    limits: Limits,
    original: object = None,
    charsets: Mapping[str, str] = _UTF_8,
) -> RawPage | Skip:
    """A page from `id`, `url`, `html` or `text`, `title` and `time`; `charsets` are the bodies'."""
    url = _text(fields.get("url"))
    name = f"{source.path.rpartition('/')[2]}:{source.record}"
    identity = _identity(fields.get("id")) or url or name
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
        # Two files of one name may both lack ids; their paths tell the records apart
        again=f"{source.path}:{source.record}" if identity == name else "",
        title=_text(fields.get("title")),
        time=parse_time(fields.get("time")),
        charset=charsets.get("html" if is_html else "text", ""),
        original=original,
    )


def _content(fields: Mapping[str, object]) -> tuple[bytes, bool] | None:
    """The html, or else the text; an empty one only when there is no other."""
    found: tuple[bytes, bool] | None = None
    for name in ("html", "text"):
        value = fields.get(name)
        if isinstance(value, str):
            value = to_bytes(value)
        if isinstance(value, bytes) and (value or found is None):
            found = value, name == "html"
            if value:
                return found
    return found


def to_bytes(text: str) -> bytes:
    """UTF-8, with U+FFFD for lone surrogates (JSON escapes can hold them)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _whole(text).encode()


def _whole(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return to_bytes(value).decode() if isinstance(value, str) else ""


def _identity(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return _text(value)
