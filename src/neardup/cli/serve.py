"""`neardup serve`: the index as an HTTP service with review pages."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neardup.cli.options import Assignments

if TYPE_CHECKING:
    from neardup.service.settings import Settings

EXAMPLE = (
    "Examples:  [bold]neardup serve --store sqlite:///crawl.db[/bold]   "
    "[bold]neardup serve --store postgresql://db/crawl --host 0.0.0.0 --tokens tokens.txt[/bold]"
)


def serve(
    store: Annotated[str, typer.Option(help="sqlite:///file.db or postgresql://host/database.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    tokens: Annotated[
        Path | None,
        typer.Option(
            help="File with one 'read TOKEN' or 'write TOKEN' per line. The environment variables "
            "NEARDUP_READ_TOKENS and NEARDUP_WRITE_TOKENS also count. Required unless the "
            "service listens on this machine only."
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Accepted host name, such as that of a proxy; repeatable."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Reader threads per process.")] = 4,
    waiting: Annotated[
        int, typer.Option(min=1, help="Most concurrent requests per process; others get a 503.")
    ] = 256,
    max_body: Annotated[
        str, typer.Option(help="Largest request body, also after decompression.")
    ] = "64MB",
    max_page: Annotated[str, typer.Option(help="Largest page.")] = "20MB",
    max_batch: Annotated[int, typer.Option(min=1, help="Most pages per request.")] = 1_000,
    memory: Annotated[str, typer.Option(help="Memory for request bodies, per process.")] = "512MB",
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds before a request times out.")
    ] = 60.0,
    method: Annotated[
        str | None, typer.Option(help="Method of a new store. \\[default: own-text]")
    ] = None,
    set_: Assignments = None,
    proxies: Annotated[
        str, typer.Option(help="Addresses of proxies whose X-Forwarded headers are trusted.")
    ] = "127.0.0.1",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve the index over HTTP, with an API and pages to review clusters.

    The API documentation is at /docs, the review pages are at /. Logs are JSON lines on standard
    error.
    """
    from neardup.cli.dedup import read_assignments  # noqa: PLC0415 - keeps --help quick
    from neardup.config import parse_size  # noqa: PLC0415
    from neardup.errors import MissingExtraError, UsageError  # noqa: PLC0415
    from neardup.service.settings import Settings  # noqa: PLC0415

    if log_level not in ("debug", "info", "warning", "error"):
        raise UsageError(f"unknown log level {log_level!r}: debug, info, warning or error")
    settings = Settings(
        store=store,
        host=host,
        port=port,
        host_names=tuple(allow_host or ()),
        token_file=str(tokens.resolve()) if tokens else "",
        body_bytes=parse_size(max_body),
        page_bytes=parse_size(max_page),
        batch_pages=max_batch,
        held_bytes=parse_size(memory),
        waiting=waiting,
        threads=threads,
        seconds=timeout,
    )
    _check(settings, workers, method, read_assignments(set_ or []))
    try:
        import fastapi  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("the service", "service") from error
    _run(settings, workers, proxies, log_level)


def _check(settings: Settings, workers: int, method: str | None, options: dict[str, Any]) -> None:
    """Check all that can be checked before the service starts. Creates a new store."""
    from neardup.errors import UsageError  # noqa: PLC0415
    from neardup.index import Index  # noqa: PLC0415
    from neardup.service.tokens import read_tokens  # noqa: PLC0415

    if not read_tokens(settings.token_file, os.environ) and not settings.is_local:
        raise UsageError(
            f"{settings.host} can be reached from other machines: use --tokens FILE, or listen on "
            "127.0.0.1"
        )
    if settings.store.startswith("memory:") and workers > 1:
        raise UsageError("workers cannot share a store in memory: use one worker, or a file")
    Index.open(settings.store, method, options or None).close()


def _run(settings: Settings, workers: int, proxies: str, log_level: str) -> None:
    import uvicorn  # noqa: PLC0415

    from neardup.service.app import ENVIRONMENT  # noqa: PLC0415
    from neardup.service.logs import SHARED, log_config  # noqa: PLC0415

    os.environ[ENVIRONMENT] = settings.to_json()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn has shut down by then
    with tempfile.TemporaryDirectory(prefix="neardup-metrics-") as folder:
        if workers > 1:
            os.environ[SHARED] = folder
        uvicorn.run(
            "neardup.service.app:from_environment",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=workers,
            log_config=log_config(log_level),
            access_log=False,
            server_header=False,
            forwarded_allow_ips=proxies,
            timeout_graceful_shutdown=round(settings.seconds) + 5,
            timeout_keep_alive=15,
            backlog=2048,
        )
