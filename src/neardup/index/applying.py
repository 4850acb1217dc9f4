"""Carrying out a plan: everything a batch of pages changes, written at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from neardup.index.matching import keys_of
from neardup.index.naming import Naming, name_clusters
from neardup.index.packing import pack, pack_rows, unpack
from neardup.index.planning import Plan
from neardup.index.sites import ALL, SURVEYED
from neardup.methods.base import Method, Surveys
from neardup.stores.records import PageRow
from neardup.stores.session import Session


def apply_plan(
    method: Method, session: Session, plan: Plan, at: int, texts: Sequence[bytes] | None
) -> Naming:
    """Write the new pages, what has changed of stored ones, and the clusters.

    `texts` are the new pages, packed; None where they are not kept.
    """
    naming = name_clusters(session, plan.groups, plan.rows, at)
    _forget_keys(method, session, plan.stale)
    session.drop_edges(plan.stale)
    session.drop_keys(plan.cooled)
    session.put_pages([_placed(plan.rows[number], naming) for number in plan.fresh])
    session.update_pages(
        (plan.rows[number].sister, plan.rows[number].decidable, number) for number in plan.stale
    )
    _put_content(method, session, plan, texts)
    session.put_keys(plan.keys.entries())
    session.drop_sites(plan.sites.retired())
    session.put_sites(plan.sites.taken_up(plan.fresh))
    if texts is None:
        _forget_surveys(session, {number for _, number in plan.sites.retired()})
    session.put_edges(plan.edges)
    if plan.state is not None:
        session.put_state(plan.state.written)
        session.drop_state(plan.state.dropped)
    naming.apply(session, set(plan.fresh))
    return naming


def _placed(row: PageRow, naming: Naming) -> PageRow:
    return row._replace(cluster=naming.clusters.get(row.number, row.cluster))


def _forget_keys(method: Method, session: Session, numbers: Sequence[int]) -> None:
    """Take from stored pages the keys that their features gave."""
    if not numbers:
        return
    features = session.content("features", numbers)
    old = unpack(method.feature_schema, list(features.values()))
    session.drop_keys(keys_of(method, old, np.array(list(features), np.int64)).entries())


def _put_content(
    method: Method, session: Session, plan: Plan, texts: Sequence[bytes] | None
) -> None:
    packed = pack_rows(plan.features)
    new = len(plan.fresh)
    session.put_content("features", zip(plan.fresh, packed[:new], strict=True))
    if plan.stale:
        session.replace_content("features", list(zip(plan.stale, packed[new:], strict=True)))
    if texts is not None:
        session.put_content("texts", zip(plan.fresh, texts, strict=True))
    elif isinstance(method, Surveys) and not method.surveys_all:
        surveys = [pack(method.survey(page)) for page in _one_by_one(plan.pages)]
        session.put_content("surveys", zip(plan.fresh, surveys, strict=True))
    if plan.survey is not None:
        session.replace_content("surveys", [(ALL, pack(plan.survey))])
        session.keep_setting(SURVEYED, str(plan.surveyed))


def _forget_surveys(session: Session, retired: set[int]) -> None:
    """What was kept of pages for the sites that they stand for no longer."""
    session.drop_content("surveys", sorted(retired - session.standing(sorted(retired))))


def _one_by_one(pages: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [pages.slice(row, 1) for row in range(pages.num_rows)]


def forget_pages(method: Method, session: Session, numbers: Sequence[int]) -> None:
    """Everything that is stored of pages; their clusters are told by whoever forgets them."""
    _forget_keys(method, session, numbers)
    session.drop_pages(numbers)
