"""/v1/compare: two pages, one method or all."""

from __future__ import annotations

from fastapi import APIRouter

from neardup.service import comparing
from neardup.service.api import problems
from neardup.service.records import Compared, CompareIn, PageIn, VerdictOut, page_from, plain_id
from neardup.service.service import READER, Running, Service

router = APIRouter(prefix="/v1/compare", tags=["compare"])


@router.post("", responses=problems(404, 408, 409, 413, 415), dependencies=[READER])
async def compare(service: Running, given: CompareIn) -> Compared:
    """What page a is to page b. Nothing is stored; a page given by id alone must be stored."""
    a, b = _side(service, given.a, "a"), _side(service, given.b, "b")
    found = await service.workers.read(
        comparing.compare,
        service.index,
        a,
        b,
        given.method,
        preset=given.preset,
        options=given.options,
    )
    verdicts = [
        VerdictOut(
            method=name,
            relation=verdict.relation,
            similarity=verdict.similarity,
            evidence=verdict.evidence,
        )
        for name, verdict in found.verdicts.items()
    ]
    return Compared(verdicts=verdicts, feedback=found.said)


def _side(service: Service, given: PageIn, name: str) -> comparing.Side:
    if given.html is None and given.text is None and given.id:
        return plain_id(given.id)
    return page_from(given, service.settings.limits, name)
