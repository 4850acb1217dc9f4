"""Login with a token, logout, and the choice of a language."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from neardup.report.languages import NAMES
from neardup.service.review.rendering import render
from neardup.service.review.visits import (
    FORM,
    LANGUAGE,
    AnyVisit,
    own_path,
    set_cookie,
)
from neardup.service.tokens import SESSION, Access

router = APIRouter()
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
