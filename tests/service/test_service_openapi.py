"""The API against its own description: whatever fits it gets an answer, and never a failure."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from service_process import Service

EXAMPLES = 25  # requests a route; each is a real one


def test_the_description_names_every_route(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()
    assert described["openapi"].startswith("3.")
    assert sorted(described["paths"]) == [
        "/v1/changes",
        "/v1/clusters",
        "/v1/clusters/{name}",
        "/v1/compare",
        "/v1/feedback",
        "/v1/feedback/pages.jsonl",
        "/v1/feedback/pairs.csv",
        "/v1/pages",
        "/v1/pages/{id}",
        "/v1/stats",
    ]
    kinds = described["paths"]["/v1/pages"]["post"]["requestBody"]["content"]
    assert set(kinds) == {"application/json", "text/html", "text/plain", "application/x-ndjson"}


def test_the_api_can_be_read_without_scripts_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/docs").text
    assert "/v1/feedback/pairs.csv" in page
    for address in re.findall(r"https?://[^/\"'%&]+", page):
        assert "127.0.0.1" in address or address.endswith(".example")  # of examples
    assert page.count('data-route="/v1/') == 13
    assert "curl " in page


def test_operations_have_names_that_a_client_can_use(http: httpx.Client) -> None:
    paths = http.get("/openapi.json").json()["paths"].values()
    names = [each["operationId"] for operations in paths for each in operations.values()]
    assert len(set(names)) == len(names)
    assert {"add_pages", "get_page", "list_clusters", "withdraw_feedback"} <= set(names)
    assert all(re.fullmatch("[a-z_]+", name) for name in names)


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("GET", "/v1/clusters?limt=3", "limit"),
        ("GET", "/v1/clusters?most=3", "limit"),
        ("GET", "/v1/pages/a?txt=true", "text"),
        ("GET", "/v1/stats?x=1", "sizes"),
        ("POST", "/v1/pages?dryrun=1", "dryrun"),
        ("GET", "/clusters?serch=x", "search"),
    ],
)
def test_unknown_parameters_are_refused(
    http: httpx.Client, method: str, path: str, named: str
) -> None:
    answer = http.request(method, path, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["detail"]


def test_whatever_fits_the_description_gets_an_answer(service: Service) -> None:
    from schemathesis import openapi

    schema = openapi.from_url(f"{service.url}/openapi.json")
    operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
    assert len(operations) == 13
    for operation in operations:
        assert ask_often(operation) >= EXAMPLES / 4, operation.label


def ask_often(operation: Any) -> int:
    """Send requests that fit the description of one route; gives how many."""
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi import checks

    conformance = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
    ]
    asked = 0

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        nonlocal asked
        response = case.call(timeout=400)
        asked += 1
        told = operation.label, response.status_code, response.text
        assert response.status_code < 500, told
        case.validate_response(response, checks=conformance)
        if response.status_code >= 400:
            assert response.headers["content-type"] == ["application/problem+json"], told
            assert response.json()["status"] == response.status_code

    ask()
    return asked
