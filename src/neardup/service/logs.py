"""Logs as lines of JSON, and the metrics that Prometheus reads at /metrics.

Neither holds anything from pages: no text, no title, no URL.
"""

from __future__ import annotations

import json
import logging
import os
import traceback
from datetime import UTC, datetime
from functools import partial
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from neardup.errors import NeardupError

LOG = logging.getLogger("neardup.service")
SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the directory where workers add up their metrics


class JsonLines(logging.Formatter):
    """One line per message, with the values in `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= described(record.exc_info[1])
        return json.dumps(line)


def described(error: BaseException) -> dict[str, Any]:
    """An error without its message, unless it is our own: others may quote a page."""
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    fields: dict[str, Any] = {
        "error": type(error).__name__,
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if isinstance(error, NeardupError):
        fields["message"] = str(error)
    return fields


def log_config(level: str) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything goes to standard error as JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "neardup.service.logs.JsonLines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("uvicorn", "neardup.service")
        },
    }


class Metrics:
    """The metrics of one process; with several workers, /metrics reports their sum."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="livesum")
        labels = ("route", "method", "status")
        self.requests = counter("neardup_requests", "Requests answered.", labels)
        self.seconds = histogram(
            "neardup_request_seconds", "Time to an answer.", ("route",), buckets=SECONDS
        )
        self.pages = counter("neardup_pages", "Pages received.", ("outcome",))
        self.refused = counter("neardup_refused", "Requests refused.", ("code",))
        self.written = histogram("neardup_write_pages", "Pages per commit.", buckets=PAGES)
        self.webhooks = counter("neardup_webhook_deliveries", "Webhook deliveries.", ("outcome",))
        self.under_way = gauge("neardup_requests_under_way", "Requests being answered.")
        self.held = gauge("neardup_body_bytes_held", "Bytes of bodies in memory.")

    def text(self) -> bytes:
        """The metrics in the format of Prometheus."""
        registry = self._registry
        if os.environ.get(SHARED):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
