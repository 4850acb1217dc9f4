"""How review pages are rendered: their words, templates, static files and error pages.

The templates escape every value and make hidden characters of pages visible. Style and script are
one file each, named by a hash of their content, so that browsers may cache them for good.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import HTMLResponse, Response

from neardup.report.languages import NAMES, WORDS, reason
from neardup.report.templates import ASSETS, STYLES, environment, visible
from neardup.service.problems import not_found
from neardup.service.review.visits import Visit, visit_of

router = APIRouter()
HERE = Path(__file__).parent / "static"


@dataclass(frozen=True)
class Asset:
    path: str
    media_type: str
    content: bytes


def _asset(kind: str, media_type: str, files: list[Path]) -> Asset:
    content = b"\n".join(file.read_bytes() for file in files)
    name = hashlib.sha256(content).hexdigest()[:16]
    return Asset(f"/static/{name}.{kind}", media_type, content)


STYLE = _asset("css", "text/css", [*(ASSETS / name for name in STYLES), HERE / "service.css"])
SCRIPT = _asset("js", "text/javascript", [HERE / "service.js"])
_ASSETS = {asset.path: asset for asset in (STYLE, SCRIPT)}
FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{name}")
async def asset(name: str) -> Response:
    found = _ASSETS.get(f"/static/{name}")
    if found is None:
        raise not_found("no such file")
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": FOR_EVER})


@router.get("/favicon.ico")
async def icon() -> Response:
    """No icon; browsers request one anyway."""
    return Response(status_code=204, headers={"Cache-Control": FOR_EVER})


RELATIONS: dict[str, str] = WORDS["relations"]


def render(visit: Visit, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    text = _TEMPLATES.get_template(template).render(
        visit=visit,
        t=visit.translate,
        reason_of=lambda why: reason(why, visit.language),
        languages=NAMES,
        style=STYLE,
        script=SCRIPT,
        **values,
    )
    response = HTMLResponse(text, status)
    response.headers["Content-Language"] = visit.language
    response.headers["Vary"] = "Accept-Language, Cookie"
    visit.keep_secret(response)
    return response


def _is_web_address(url: str) -> bool:
    """Only http and https URLs without hidden characters become links."""
    plain = url.isprintable() and " " not in url and visible(url) == url and len(url) < 2_000
    return plain and url.lower().startswith(("http://", "https://"))


def page_path(id_: str) -> str:
    return f"/pages/{quote(id_, safe='')}"


def pair_path(a: str, b: str, **more: str) -> str:
    return f"/pair?{urlencode({'a': a, 'b': b, **more})}"


_TEMPLATES = environment(Path(__file__).parent / "templates")
_TEMPLATES.filters["page_path"] = page_path
_TEMPLATES.globals.update(
    relation_words=RELATIONS,
    sentences=WORDS["sentences"],
    events=WORDS["events"],
    pair_path=pair_path,
    is_web_address=_is_web_address,
)

FOR_PROGRAMS = ("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json")


def wants_page(request: Request) -> bool:
    """Whether a browser requested a page, not a program."""
    if request.url.path.startswith(FOR_PROGRAMS):
        return False
    return "text/html" in request.headers.get("accept", "")


def error_page(request: Request, problem: HTTPException) -> Response:
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
