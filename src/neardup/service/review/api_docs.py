"""/docs: the documentation of the API, made from its OpenAPI description."""

from __future__ import annotations

import json
import shlex
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from neardup.service.review.visits import AnyVisit, render

router = APIRouter()
PAGE = {"url": "https://a.example/1", "html": "<p>The harbour ferry will run more often.</p>"}
OTHER = {"url": "https://b.example/2", "html": "<p>The harbour ferry will run less often.</p>"}
BODIES: dict[str, dict[str, Any]] = {
    "add_pages": PAGE,
    "compare_pages": {"a": PAGE, "b": OTHER, "method": "all"},
    "give_feedback": {"a": PAGE["url"], "b": OTHER["url"], "duplicate": False, "note": ""},
}
VALUES = {
    "get_page": {"id": PAGE["url"]},
    "remove_page": {"id": PAGE["url"]},
    "get_cluster": {"name": "c1"},
    "list_clusters": {"search": "ferry", "limit": "10"},
    "withdraw_feedback": {"a": PAGE["url"], "b": OTHER["url"]},
}


@router.get("/docs")
async def docs(visit: AnyVisit) -> Response:
    """Every route with its parameters, bodies, answers and an example."""
    described = visit.request.app.openapi()
    bodies = {name: json.dumps(body, indent=2) for name, body in BODIES.items()}
    base = str(visit.request.base_url).rstrip("/")
    examples = {
        operation["operationId"]: _example(base, path, method, operation["operationId"])
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    }
    return render(visit, "docs.html", examples=examples, bodies=bodies, values=VALUES, **described)


def _example(base: str, path: str, method: str, operation: str) -> str:
    """A request as a command."""
    query = []
    for name, value in VALUES.get(operation, {}).items():
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        else:
            query.append(f"{name}={quote(value, safe='')}")
    parts = ["curl", *(["-X", method.upper()] if method not in ("get", "post") else [])]
    parts.append(base + path + ("?" + "&".join(query) if query else ""))
    if operation in BODIES:
        parts += ["-H", "Content-Type: application/json", "-d", json.dumps(BODIES[operation])]
    return shlex.join(parts)
