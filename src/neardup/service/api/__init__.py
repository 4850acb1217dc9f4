"""The HTTP API: the routes under /v1, and those for monitoring: /healthz, /readyz, /metrics."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from neardup.errors import StoreError
from neardup.index import Index
from neardup.service.api import clusters, comparison, pages
from neardup.service.problems import busy
from neardup.service.records import State, StatsOut
from neardup.service.service import READER, Running, for_readers

router = APIRouter(tags=["status"])

READY_SECONDS = 5.0


@router.get("/v1/stats", **for_readers())
async def get_stats(
    service: Running,
    sizes: Annotated[bool, Query(description="include the bytes per table (slower)")] = False,
) -> StatsOut:
    """Get counts over the whole index."""
    return await service.workers.read(_stats, service.index, sizes)


def _stats(index: Index, with_sizes: bool) -> StatsOut:
    counts = asdict(index.stats())
    return StatsOut(method=index.method.name, sizes=index.sizes() if with_sizes else None, **counts)


@router.api_route("/healthz", methods=["GET", "HEAD"], include_in_schema=False)
async def healthy() -> State:
    """Whether the process is up."""
    return State(status="ok")


@router.api_route("/readyz", methods=["GET", "HEAD"], include_in_schema=False)
async def ready(service: Running) -> State:
    """Whether the store answers."""
    try:
        await asyncio.wait_for(asyncio.to_thread(service.index.page, ""), READY_SECONDS)
    except (TimeoutError, StoreError):
        raise busy("store", "the store does not answer", 5) from None
    return State(status="ready")


@router.get("/metrics", include_in_schema=False, dependencies=[READER])
async def metrics(service: Running) -> Response:
    """Counters for Prometheus."""
    text = service.metrics.text()
    return Response(text, headers={"Content-Type": service.metrics.content_type})


def api_routes() -> APIRouter:
    whole = APIRouter()
    routers = pages.router, comparison.router, clusters.router, clusters.feedback_router, router
    for each in routers:
        whole.include_router(each)
    return whole
