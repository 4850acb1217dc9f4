"""The pages where people review clusters and correct them, rendered on the server."""

from __future__ import annotations

from fastapi import APIRouter

from neardup.service.review import api_docs, clusters, pairs, visits
from neardup.service.service import KNOWN


def review_routes() -> APIRouter:
    """All routes of the review pages; the API's description leaves them out."""
    router = APIRouter(include_in_schema=False, dependencies=[KNOWN])
    for module in (visits, clusters, pairs, api_docs):
        router.include_router(module.router)
    return router
