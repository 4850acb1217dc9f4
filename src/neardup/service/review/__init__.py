"""The pages where people look at clusters and correct them. Rendered here, loading nothing."""

from __future__ import annotations

from fastapi import APIRouter

from neardup.service.review import (
    api_docs,
    clusters,
    compare,
    feedback,
    overview,
    pairs,
    rendering,
    sessions,
    stored_pages,
)


def review_routes() -> APIRouter:
    """All routes of the review pages; the API's description leaves them out."""
    router = APIRouter(include_in_schema=False)
    modules = (
        rendering,
        sessions,
        overview,
        clusters,
        stored_pages,
        pairs,
        compare,
        feedback,
        api_docs,
    )
    for module in modules:
        router.include_router(module.router)
    return router
