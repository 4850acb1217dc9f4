"""/v1/clusters: pages that are one page to a reader."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from neardup.index import Index
from neardup.index.contents import Sort
from neardup.service.api import problems
from neardup.service.problems import not_found
from neardup.service.records import ClusterList, ClusterOut, as_time, plain_id
from neardup.service.service import READER, Running

router = APIRouter(prefix="/v1/clusters", tags=["clusters"], dependencies=[READER])

FARTHEST = 1_000_000_000
LONGEST_HISTORY = 1_000  # events, the last ones
Skip = Annotated[int, Query(ge=0, le=FARTHEST, description="how many to leave out")]
Most = Annotated[int, Query(ge=1, le=1_000, description="how many to give")]


@router.get("", responses=problems())
async def list_clusters(
    service: Running,
    smallest: Annotated[int, Query(ge=1, le=FARTHEST, description="pages at least")] = 2,
    host: Annotated[str, Query(description="with a page of this host", max_length=300)] = "",
    search: Annotated[str, Query(description="in ids and titles", max_length=300)] = "",
    since: Annotated[str | None, Query(description="changed since, ISO 8601")] = None,
    sort: Annotated[Sort, Query(description="greatest or newest first")] = "size",
    skip: Skip = 0,
    most: Most = 50,
) -> ClusterList:
    """Clusters, the greatest or newest first."""
    found = await service.workers.read(
        service.index.list_clusters,
        smallest=smallest,
        host=plain_id(host),
        search=plain_id(search),
        since=as_time(since),
        sort=sort,
        skip=skip,
        most=most + 1,
    )
    return ClusterList(clusters=found[:most], next=skip + most if len(found) > most else None)


@router.get("/{name}", responses=problems(404))
async def show(
    service: Running,
    name: Annotated[str, Path(max_length=30)],
    skip: Skip = 0,
    most: Most = 100,
) -> ClusterOut:
    """A cluster with its pages; by its old name also one that it has become part of."""
    return await service.workers.read(_cluster, service.index, name, skip, most)


def _cluster(index: Index, name: str, skip: int, most: int) -> ClusterOut:
    members = index.members(name)
    if not members:
        raise not_found("there is no cluster of that name in the index")
    now = members[0].cluster
    return ClusterOut(
        name=now,
        size=len(members),
        kept=members[0].id,
        members=members[skip : skip + most],
        next=skip + most if len(members) > skip + most else None,
        history=index.history(now)[-LONGEST_HISTORY:],
    )
