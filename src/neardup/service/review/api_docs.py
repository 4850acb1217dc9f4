"""/docs: the documentation of the API, made from its OpenAPI description."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from neardup.service.review.rendering import render
from neardup.service.review.visits import AnyVisit

router = APIRouter()


@router.get("/docs")
async def docs(visit: AnyVisit) -> Response:
    """Every route with its parameters, bodies and answers."""
    return render(visit, "docs.html", **visit.request.app.openapi())
