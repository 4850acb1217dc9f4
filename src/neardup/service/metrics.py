"""What Prometheus asks for at /metrics."""

from __future__ import annotations

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
PAGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the folder through which workers add up


class Metrics:
    """The counters of one process; with several workers, /metrics tells their sum."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        self.requests = Counter(
            "neardup_requests", "Requests answered.", ("route", "method", "status"), registry=own
        )
        self.seconds = Histogram(
            "neardup_request_seconds",
            "Time to an answer.",
            ("route",),
            buckets=SECONDS,
            registry=own,
        )
        self.pages = Counter("neardup_pages", "Pages taken in.", ("outcome",), registry=own)
        self.refused = Counter("neardup_refused", "Requests refused.", ("code",), registry=own)
        self.written = Histogram(
            "neardup_write_pages", "Pages written at once.", buckets=PAGES, registry=own
        )
        self.under_way = Gauge(
            "neardup_requests_under_way",
            "Requests being answered.",
            registry=own,
            multiprocess_mode="livesum",
        )
        self.held = Gauge(
            "neardup_body_bytes_held",
            "Bytes of bodies in memory.",
            registry=own,
            multiprocess_mode="livesum",
        )

    def text(self) -> bytes:
        """In the form that Prometheus reads."""
        registry = self._registry
        if os.environ.get(SHARED):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
