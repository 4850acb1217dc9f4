"""What all routes share: the index, the threads, the tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from neardup.index import Index
from neardup.service.metrics import Metrics
from neardup.service.problems import Problem
from neardup.service.settings import Settings
from neardup.service.tokens import Access, Tokens
from neardup.service.working import Workers


@dataclass(frozen=True)
class Service:
    """A running service."""

    settings: Settings
    tokens: Tokens
    metrics: Metrics
    index: Index
    workers: Workers


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    return cast(Service, request.app.state.service)


async def running(request: Request) -> Service:
    """The same for routes; what is not `async` would be sent to a thread."""
    return service_of(request)


Running = Annotated[Service, Depends(running)]

_BEARER = HTTPBearer(auto_error=False, description="a token; none is needed where none is set")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)]


async def access(service: Running, credentials: Credentials) -> Access:
    """What the bearer of this request's token may do."""
    return service.tokens.access(credentials.credentials if credentials else None)


def demand(found: Access, needed: Access) -> None:
    """A problem unless the caller may do what is needed."""
    if found >= needed:
        return
    if found is Access.NONE:
        detail = "a token is needed: send it as 'Authorization: Bearer TOKEN'"
        raise Problem(401, "no-token", detail, {"WWW-Authenticate": 'Bearer realm="neardup"'})
    raise Problem(403, "read-only", "this token may only read")


CallerAccess = Annotated[Access, Depends(access)]


def needs(needed: Access) -> Any:
    """A dependency of routes that only some callers may use."""

    async def check(found: CallerAccess) -> None:
        demand(found, needed)

    return Depends(check)


READER, WRITER = needs(Access.READ), needs(Access.WRITE)
