"""A real server process for tests: `neardup serve` as users run it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

READ, WRITE = "read-token-0123456789", "write-token-0123456789"
TOKENS = {"NEARDUP_READ_TOKENS": READ, "NEARDUP_WRITE_TOKENS": WRITE}
PATIENCE = 400.0  # the first start on a busy machine compiles kernels
PATIENT = ("--timeout", 400)  # for requests that may compile, too


@dataclass
class Service:
    """A running service; its log is a file."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str

    def lines(self) -> list[dict[str, Any]]:
        """The log so far."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]

    def stop(self) -> int:
        """Ask it to end, and wait; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait(PATIENCE)


@contextmanager
def serving(
    folder: Path,
    *options: object,
    store: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """A service on a free port, ready, and gone at the end."""
    log = folder / f"service-{time.monotonic_ns()}.log"
    place = store or f"sqlite:///{folder / 'pages.db'}"
    command = [sys.executable, "-m", "neardup", "serve", "--store", place, "--port", "0"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, *map(str, options)], stderr=file, env={**os.environ, **(environment or {})}
        )
    try:
        service = Service(process, log, _address(process, log))
        _wait_until_ready(service)
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        for line in log.read_text("utf-8").splitlines():
            _, found, rest = line.partition("running on ")
            if found:
                return rest.split(" ")[0]
        assert process.poll() is None, log.read_text("utf-8")
        time.sleep(0.05)
    raise AssertionError(f"the service did not start: {log.read_text('utf-8')}")


def _wait_until_ready(service: Service) -> None:
    started = time.monotonic()
    while time.monotonic() - started < PATIENCE:
        try:
            if httpx.get(f"{service.url}/readyz", timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"the service is not ready: {service.log.read_text('utf-8')}")
