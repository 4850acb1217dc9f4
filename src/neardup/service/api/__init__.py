"""The routes under /v1, and those that machines watch."""

from __future__ import annotations

from typing import Any

from neardup.service.problems import MEDIA_TYPE, ProblemDetails

_TOLD = {
    400: "the body cannot be read",
    401: "a token is needed",
    403: "this token may not, or the request comes from another site",
    404: "it is not here",
    408: "the body did not come in time",
    409: "the store keeps no texts",
    413: "too large",
    415: "a form of content that is not known",
    421: "the service is not known by that name",
    422: "the request makes no sense",
    500: "the service failed",
    503: "not now; Retry-After says when",
}
_EVERYWHERE = (400, 401, 403, 421, 422, 500, 503)


def problems(*more: int) -> dict[int | str, dict[str, Any]]:
    """The responses that a route documents beside its answer."""
    content = {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema()}}
    return {
        status: {"description": _TOLD[status], "content": content}
        for status in sorted({*_EVERYWHERE, *more})
    }
