"""/docs: the documentation of the API, made from its OpenAPI description."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from neardup.service.review.rendering import render
from neardup.service.review.visits import AnyVisit

router = APIRouter()


@router.get("/docs")
async def docs(visit: AnyVisit) -> Response:
    """Every route with its parameters, bodies and answers."""
    described = visit.request.app.openapi()
    routes = [
        {
            "method": method.upper(),
            "path": path,
            "about": operation.get("description") or operation.get("summary", ""),
            "parameters": [_parameter(each) for each in operation.get("parameters", [])],
            "body": _body(operation),
            "responses": {
                status: answer["description"] for status, answer in operation["responses"].items()
            },
        }
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    schemas = described["components"]["schemas"]
    shown = {name: _fields(schema) for name, schema in schemas.items() if "properties" in schema}
    return render(visit, "docs.html", info=described["info"], routes=routes, schemas=shown)


def _parameter(described: dict[str, Any]) -> dict[str, str]:
    schema = described["schema"]
    default = schema.get("default")
    type_ = _type(schema) + (f", default {default}" if default not in (None, "") else "")
    return {"name": described["name"], "type": type_, "about": described.get("description", "")}


def _body(operation: dict[str, Any]) -> list[str]:
    content = operation.get("requestBody", {}).get("content", {})
    return [f"{kind}: {_type(each.get('schema', {}))}" for kind, each in content.items()]


def _fields(schema: dict[str, Any]) -> list[dict[str, str]]:
    needed = schema.get("required", [])
    return [
        {
            "name": name,
            "type": _type(field) + ("" if name in needed else ", optional"),
            "about": field.get("description", ""),
        }
        for name, field in schema["properties"].items()
    ]


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(
        schema.get("title", "object")
        if schema.get("type") == "object"
        else schema.get("type", "any")
    )
