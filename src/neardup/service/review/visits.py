"""A visit to a review page: its language, its rights, and the secret of its forms.

The pages speak English and Chinese (`report.languages`).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from neardup.report.languages import NAMES, Language, translator
from neardup.service.problems import Problem
from neardup.service.service import Service, service_of
from neardup.service.tokens import SESSION, SESSION_SECONDS, Access

FORM, LANGUAGE = "neardup_form", "neardup_language"
MOST_FIELDS = 20


def language_of(chosen: str | None, accepted: str) -> Language:
    """The chosen language, or the browser's first choice among those available."""
    for name in NAMES:
        if chosen == name:
            return name
    for wanted in _by_weight(accepted):
        if wanted.startswith("zh"):
            return "zh"
        if wanted.startswith("en"):
            return "en"
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
        known = FORM in self.request.cookies
        if not (known and isinstance(token, str) and token.isascii()):
            raise _stale()
        if not hmac.compare_digest(token, self.form_token):
            raise _stale()
        return form

    def keep_secret(self, response: Response) -> None:
        """Set the secret in a browser that has none."""
        if FORM not in self.request.cookies:
            set_cookie(self.request, response, FORM, self.secret)


def _stale() -> Problem:
    return Problem(403, "stale-form", "the form has expired: reload the page and try again")


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


async def visit(request: Request) -> Visit:
    """`visit_of` as a dependency."""
    return visit_of(request)


def _needs(needed: Access) -> Callable[[Request], Awaitable[Visit]]:
    async def check(request: Request) -> Visit:
        found = visit_of(request)
        if found.access < needed:
            raise LoginNeededError(found.here if request.method == "GET" else "/")
        return found

    return check


AnyVisit = Annotated[Visit, Depends(visit)]
ReadingVisit = Annotated[Visit, Depends(_needs(Access.READ))]
WritingVisit = Annotated[Visit, Depends(_needs(Access.WRITE))]


def to_login(error: LoginNeededError) -> Response:
    return RedirectResponse(f"/login?next={quote(error.path, safe='')}", 303)


def own_path(path: str | Any) -> str:
    """`path` if it is a path of this service, else the overview."""
    plain = isinstance(path, str) and path.startswith("/") and path.isprintable()
    return path if plain and not path.startswith(("//", "/\\")) and "\\" not in path else "/"
