"""Services that tests share: one that everybody may write to, one with tokens and low limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service_process import PATIENT, TOKENS, Service, serving

LOW_LIMITS = (
    *("--max-body", "200KB", "--max-page", "50KB", "--max-batch", "5"),
    *("--timeout", "3", "--allow-host", "pages.example"),
)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Without tokens, as on one's own machine."""
    with serving(tmp_path_factory.mktemp("service"), *PATIENT) as running:
        yield running


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With a token that reads, a token that writes, and low limits."""
    folder = tmp_path_factory.mktemp("guarded")
    with serving(folder, *LOW_LIMITS, environment=TOKENS) as running:
        yield running


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    """A plain HTTP client of the open service."""
    with httpx.Client(base_url=service.url, timeout=400, trust_env=False) as client:
        yield client


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs these tests, so that each service is started once."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("service"))
