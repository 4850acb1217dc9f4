"""A visit to a review page: its language, access rights and form token, and how it is rendered.

The pages are in English and Chinese (`report.templates`). The templates escape every value and make
hidden characters of pages visible. Style and script are one file each, named by a hash of their
content, so that browsers may cache them forever.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from markupsafe import Markup, escape
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response

from neardup.report import Language
from neardup.report.templates import (
    ASSETS,
    NAMES,
    STYLES,
    WORDS,
    environment,
    reason,
    translator,
    visible,
)
from neardup.service.problems import Problem, not_found
from neardup.service.service import Service, service_of
from neardup.service.tokens import SESSION, SESSION_SECONDS, Access

FORM, LANGUAGE = "neardup_form", "neardup_language"
MOST_FIELDS = 20


def language_of(chosen: str | None, accepted: str) -> Language:
    """The chosen language, or the browser's first choice among those available."""
    for tag in [chosen if chosen in NAMES else "", *_by_weight(accepted)]:
        for name in NAMES:
            if tag.startswith(name):
                return name
    return "en"


def _by_weight(accepted: str) -> list[str]:
    weighted = []
    for place, part in enumerate(accepted.lower().split(",")[:20]):
        name, _, weight = part.strip().partition(";q=")
        try:
            weighted.append((-float(weight or 1), place, name))
        except ValueError:
            continue
    return [name for _, _, name in sorted(weighted)]


class LoginNeededError(Exception):
    """The visitor has not logged in, or the token does not allow this."""

    def __init__(self, path: str) -> None:
        self.path = path


@dataclass(frozen=True)
class Visit:
    """One request of a browser."""

    request: Request
    service: Service
    language: Language
    access: Access
    secret: str  # kept in a cookie; forms carry a token derived from it

    @property
    def may_write(self) -> bool:
        """Whether forms that change something are shown."""
        return self.access >= Access.WRITE

    @property
    def translate(self) -> Callable[..., str]:
        return translator(self.language)

    @property
    def here(self) -> str:
        """The path and query of this page, encoded as received: ids may hold any character."""
        path: bytes = self.request.scope["raw_path"]
        query: bytes = self.request.scope["query_string"]
        return (path + b"?" + query if query else path).decode("latin-1")

    @property
    def form_token(self) -> str:
        """The token that a form must carry, bound to the secret and the session."""
        session = self.request.cookies.get(SESSION, "")
        return hmac.new(self.secret.encode(), session.encode(), "sha256").hexdigest()

    async def form(self) -> FormData:
        """The submitted form, if it is one of ours."""
        limit = self.service.settings.limits.page_bytes
        form = await self.request.form(max_files=2, max_fields=MOST_FIELDS, max_part_size=limit)
        token = form.get("form_token")
        is_ours = (
            FORM in self.request.cookies
            and isinstance(token, str)
            and token.isascii()  # `compare_digest` takes no other text
            and hmac.compare_digest(token, self.form_token)
        )
        if not is_ours:
            detail = "the form has expired: reload the page and try again"
            raise Problem(403, "stale-form", detail)
        return form


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send."""
    response.set_cookie(
        name,
        value,
        max_age=SESSION_SECONDS,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def visit_of(request: Request) -> Visit:
    """The visit of a request, without checking rights."""
    service = service_of(request)
    return Visit(
        request,
        service,
        language_of(request.cookies.get(LANGUAGE), request.headers.get("accept-language", "")),
        service.tokens.session_access(request.cookies.get(SESSION)),
        request.cookies.get(FORM) or secrets.token_urlsafe(32),
    )


def _needs(access: Access) -> Callable[[Request], Awaitable[Visit]]:
    """A dependency: the visit of a request, for visitors with this access."""

    async def check(request: Request) -> Visit:
        visit = visit_of(request)
        if visit.access < access:
            raise LoginNeededError(visit.here if request.method == "GET" else "/")
        return visit

    return check


AnyVisit = Annotated[Visit, Depends(_needs(Access.NONE))]
ReadingVisit = Annotated[Visit, Depends(_needs(Access.READ))]
WritingVisit = Annotated[Visit, Depends(_needs(Access.WRITE))]


def to_login(error: LoginNeededError) -> Response:
    return RedirectResponse(f"/login?next={quote(error.path, safe='')}", 303)


def own_path(path: str | Any) -> str:
    """`path` if it is a path of this service, else the overview."""
    plain = isinstance(path, str) and path.startswith("/") and path.isprintable()
    return path if plain and not path.startswith(("//", "/\\")) and "\\" not in path else "/"


router = APIRouter()
HERE = Path(__file__).parent / "static"


class Asset(NamedTuple):
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
    file = _ASSETS.get(f"/static/{name}")
    if file is None:
        raise not_found("no such file")
    return Response(file.content, media_type=file.media_type, headers={"Cache-Control": FOR_EVER})


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
    if FORM not in visit.request.cookies:
        set_cookie(visit.request, response, FORM, visit.secret)
    return response


def _is_web_address(url: str) -> bool:
    """Only http and https URLs without hidden characters become links."""
    plain = url.isprintable() and " " not in url and visible(url) == url and len(url) < 2_000
    return plain and url.lower().startswith(("http://", "https://"))


def page_path(id_: str) -> str:
    return f"/pages/{quote(id_, safe='')}"


def pair_path(a: str, b: str, **more: str) -> str:
    return f"/pair?{urlencode({'a': a, 'b': b, **more})}"


def with_code(text: str) -> Markup:
    """Text for HTML, with `what stands in backticks` as code."""
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(text.split("`"))
    )


_TEMPLATES = environment(Path(__file__).parent / "templates")
_TEMPLATES.filters |= {"page_path": page_path, "code": with_code}
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


Next = Annotated[str, Query(alias="next")]


@router.get("/login")
async def login_page(visit: AnyVisit, to: Next = "/") -> Response:
    if visit.may_write:
        return RedirectResponse(own_path(to), 303)
    return render(visit, "login.html", to=own_path(to), failed=False)


@router.post("/login")
async def login(visit: AnyVisit) -> Response:
    form = await visit.form()
    token, to = form.get("token"), own_path(form.get("next"))
    if not isinstance(token, str) or visit.service.tokens.access(token.strip()) is Access.NONE:
        return render(visit, "login.html", 403, to=to, failed=True)
    response = RedirectResponse(to, 303)
    session = visit.service.tokens.session(token.strip())
    set_cookie(visit.request, response, SESSION, session)
    response.delete_cookie(FORM, path="/")  # a new session has new forms
    return response


@router.post("/logout")
async def logout(visit: AnyVisit) -> Response:
    await visit.form()
    response = RedirectResponse("/login", 303)
    response.delete_cookie(SESSION, path="/")
    response.delete_cookie(FORM, path="/")
    return response


@router.get("/language/{name}")
async def choose_language(visit: AnyVisit, name: str, to: Next = "/") -> Response:
    """Remember a language and return to the page."""
    response = RedirectResponse(own_path(to), 303)
    if name in NAMES:
        set_cookie(visit.request, response, LANGUAGE, name)
    return response
