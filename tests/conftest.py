"""Settings for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from interrupting import let_ctrl_c_through
from postgres import Server, running_server

let_ctrl_c_through()

# No deadlines: the first call of a kernel compiles it. In CI the same examples every time.
settings.register_profile(
    "neardup",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("neardup")

# What is longer than this, or no text, has no place in the name of a test.
NAMED = 40


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a test by its argument where the value is long or bytes.

    A name must not depend on the moment: gzip writes the time into its header, and workers that
    collect in different seconds would find different tests. pytest numbers names that are equal.
    """
    long = isinstance(val, str) and len(val) > NAMED
    return argname if long or isinstance(val, bytes) else None


# Tests that need a browser, a cluster or a server, or that run over a labelled set.
SLOW_FOLDERS = {"browser", "service", "spark"}
SLOW_FIXTURES = {"postgres", "spark", "shared_data"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what needs more than Python; other slow tests carry the mark themselves."""
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if (
            item.path.parent.name in SLOW_FOLDERS
            or not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
            or (group and group.args[0] in SLOW_FIXTURES)
        ):
            item.add_marker(pytest.mark.slow)


SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The labelled sets and real pages that lie beside the project, where they do."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the labelled sets in ../shared/data")
    return SHARED_DATA


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A real PostgreSQL server. Tests that take it share one: mark them xdist_group("postgres")."""
    with running_server() as server:
        yield server
