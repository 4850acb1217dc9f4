"""`neardup serve`: the index as an HTTP service with review pages."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from neardup.cli.dedup import read_assignments
from neardup.cli.options import Assignments, SearchText, StoreKeep, Window, option
from neardup.cli.store import parse_span
from neardup.cli.warm_up import prepare_run
from neardup.config import parse_size
from neardup.errors import MissingExtraError, UnavailableError, UsageError, unknown

if TYPE_CHECKING:
    from neardup.service.settings import Settings


LOG_LEVELS = ("debug", "info", "warning", "error")


def serve(
    store: Annotated[str, option("serve.store")],
    host: Annotated[str, option("serve.host")] = "127.0.0.1",
    port: Annotated[int, option("serve.port")] = 8000,
    tokens: Annotated[Path | None, option("serve.tokens")] = None,
    allow_host: Annotated[list[str] | None, option("serve.allow_host")] = None,
    workers: Annotated[int, option("serve.workers")] = 1,
    threads: Annotated[int, option("serve.threads")] = 4,
    waiting: Annotated[int, option("serve.waiting")] = 256,
    max_body: Annotated[str, option("serve.max_body")] = "64MB",
    max_page: Annotated[str, option("serve.max_page")] = "20MB",
    max_batch: Annotated[int, option("serve.max_batch")] = 1_000,
    memory: Annotated[str, option("serve.memory")] = "512MB",
    timeout: Annotated[float, option("serve.timeout")] = 60.0,
    method: Annotated[str | None, option("serve.method")] = None,
    set_: Assignments = None,
    search_text: SearchText = False,
    webhook: Annotated[list[str] | None, option("serve.webhook")] = None,
    webhook_kinds: Annotated[str, option("serve.webhook_kinds")] = "created,merged,split",
    keep: StoreKeep = None,
    window: Window = None,
    proxies: Annotated[str, option("serve.proxies")] = "127.0.0.1",
    log_level: Annotated[str, option("serve.log_level")] = "info",
) -> None:
    """Serve the index over HTTP, with an API and pages to review clusters.

    The API documentation is at /docs, the review pages are at /. Logs are JSON lines on standard
    error.
    """
    from neardup.service.settings import Settings  # noqa: PLC0415

    if log_level not in LOG_LEVELS:
        raise unknown("log level", log_level, LOG_LEVELS)
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
        webhooks=tuple(webhook or ()),
        webhook_kinds=tuple(each.strip() for each in webhook_kinds.split(",")),
    )
    requested = {
        "search_text": True if search_text else None,  # otherwise as the store is
        "keep": keep,
        "window": parse_span(window),
    }
    try:
        import fastapi  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingExtraError("the service", "service") from error
    _check(settings, workers, method, read_assignments(set_ or []), requested)
    prepare_run(method)
    _run(settings, workers, proxies, log_level)


def _check(
    settings: Settings,
    workers: int,
    method: str | None,
    options: dict[str, Any],
    requested: dict[str, Any],
) -> None:
    """Check all that can be checked before the service starts. Creates a new store."""
    from neardup.index import Index  # noqa: PLC0415
    from neardup.index.index import CHANGES  # noqa: PLC0415
    from neardup.service.tokens import read_tokens  # noqa: PLC0415
    from neardup.service.webhooks import check_hooks  # noqa: PLC0415

    if not read_tokens(settings.token_file, os.environ) and not settings.is_local:
        raise UsageError(
            f"{settings.host} can be reached from other machines: use --tokens FILE, or listen on "
            "127.0.0.1"
        )
    if settings.store.startswith("memory:") and workers > 1:
        raise UsageError("workers cannot share a store in memory: use one worker, or a file")
    check_hooks(settings.webhooks, os.environ)
    for kind in settings.webhook_kinds:
        if kind not in CHANGES:
            raise unknown("kind of change", kind, CHANGES)
    _check_port(settings.host, settings.port)
    Index.open(settings.store, method, options or None, **requested).close()


def _check_port(host: str, port: int) -> None:
    """Refuse an address that cannot be listened on: uvicorn would log it and exit with 0."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        raise UnavailableError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; use another --port"
        ) from None


def _run(settings: Settings, workers: int, proxies: str, log_level: str) -> None:
    import uvicorn  # noqa: PLC0415

    from neardup.service.app import ENVIRONMENT  # noqa: PLC0415
    from neardup.service.connections import BoundedProtocol  # noqa: PLC0415
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
            http=BoundedProtocol,
            loop="asyncio",
            backlog=2048,
        )
