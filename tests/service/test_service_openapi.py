"""The API against its own description: whatever fits it gets an answer, and never a failure."""

from __future__ import annotations

from typing import Any

import httpx

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
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert "https://" not in page


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
