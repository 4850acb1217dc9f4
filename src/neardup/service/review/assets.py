"""Style and script, each one file named by its content, so that browsers may keep them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from neardup.report import document
from neardup.service.problems import not_found

router = APIRouter()
HERE = Path(__file__).parent / "static"


@dataclass(frozen=True)
class Asset:
    """A file that pages load from here."""

    path: str
    media_type: str
    content: bytes


def _asset(kind: str, media_type: str, files: list[Path]) -> Asset:
    content = b"\n".join(file.read_bytes() for file in files)
    name = hashlib.sha256(content).hexdigest()[:16]
    return Asset(f"/static/{name}.{kind}", media_type, content)


STYLE = _asset(
    "css",
    "text/css",
    [*(document.ASSETS / name for name in document.STYLES), HERE / "service.css"],
)
SCRIPT = _asset("js", "text/javascript", [HERE / "service.js"])
_ASSETS = {asset.path: asset for asset in (STYLE, SCRIPT)}
FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{name}")
async def asset(name: str) -> Response:
    """A file by its name."""
    found = _ASSETS.get(f"/static/{name}")
    if found is None:
        raise not_found("there is no such file")
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": FOR_EVER})


@router.get("/favicon.ico")
async def icon() -> Response:
    """None; browsers ask."""
    return Response(status_code=204, headers={"Cache-Control": FOR_EVER})
