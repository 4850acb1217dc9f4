"""The HTTP API: the routes under /v1, and those that machines watch."""

from __future__ import annotations

from fastapi import APIRouter

from neardup.service.api import clusters, comparison, pages, status


def api_routes() -> APIRouter:
    """All routes of the API."""
    router = APIRouter()
    for module in (pages, comparison, clusters, status):
        router.include_router(module.router)
    return router
