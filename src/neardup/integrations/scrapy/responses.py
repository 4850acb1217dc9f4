"""From a response, or an item that carries a page, to a page of ours."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from w3lib.encoding import http_content_type_encoding

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages import Limits
from neardup.pages.fields import page_from_fields

LIMITS = Limits()
DONT_CHECK = "neardup_dont_check"  # in a request's meta


def page_from_response(response: Response, request: Request, fingerprint: str) -> RawPage | str:
    """The page, or why the response is not looked at."""
    if request.meta.get(DONT_CHECK):
        return "not-asked-for"
    if not 200 <= response.status < 300:
        return SkipReason.HTTP_STATUS
    is_html = isinstance(response, HtmlResponse)
    if not is_html and not _is_plain_text(response):
        return SkipReason.NOT_HTML
    if not response.body:
        return SkipReason.EMPTY
    if len(response.body) > LIMITS.page_bytes:
        return SkipReason.TOO_LARGE
    return RawPage(
        id=_identity(response, request, fingerprint),
        body=response.body,
        is_html=is_html,
        source=Source("scrapy"),
        url=response.url,
        time=datetime.now(UTC),
        charset=http_content_type_encoding(_content_type(response)) or "",
    )


def _is_plain_text(response: Response) -> bool:
    """Scrapy takes style sheets, scripts and JSON for text, too."""
    said = _content_type(response)
    return type(response) is TextResponse and (not said or said.startswith("text/plain"))


def _content_type(response: Response) -> str:
    value = response.headers.get("Content-Type") or b""
    return value.decode("latin-1").strip().lower()


def _identity(response: Response, request: Request, fingerprint: str) -> str:
    """The URL; what is posted to one URL may bring many pages, so there the request counts."""
    if request.method == "GET":
        return response.url
    return f"{response.url} {request.method} {fingerprint}"


def page_from_item(fields: Mapping[str, Any]) -> RawPage | str:
    """The page that an item carries in `html` or `text`, under its `id` or `url`."""
    if not fields.get("id") and not fields.get("url"):
        return "no-id"
    page = page_from_fields(fields, Source("scrapy"), LIMITS)
    return page.reason if isinstance(page, Skip) else page
