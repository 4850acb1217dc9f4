"""From a plan, or from what is stored, to what is told of a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from neardup.index.answers import Answer, cluster_name
from neardup.index.matching import PageFeatures, stored_features
from neardup.index.naming import NONE
from neardup.index.planning import Plan
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session


def planned_answers(
    method: Method, session: Session, plan: Plan, clusters: Mapping[int, int]
) -> dict[str, Answer]:
    """What is told of the new pages of a plan, by id; `clusters` are those that pages move to."""
    group_of = {page: group for group in plan.groups for page in group}
    places = {number: row for row, number in enumerate(plan.numbers)}
    features = PageFeatures(method, session, plan.features, places)
    edges_of: dict[int, list[Edge]] = {number: [] for number in plan.fresh}
    for edge in plan.edges:
        for end in (edge.a, edge.b):
            if end in edges_of:
                edges_of[end].append(edge)
    missing = {end for edge in plan.edges for end in (edge.a, edge.b)} - plan.rows.keys()
    rows = {**session.pages(sorted(missing)), **plan.rows}
    answers = {}
    for number in plan.fresh:
        row = rows[number]._replace(cluster=clusters.get(number, rows[number].cluster))
        members = set(group_of[number])
        answers[row.id] = _answer(
            method, row, members, edges_of[number], rows, features, plan.evidence
        )
    return answers


def stored_answer(method: Method, session: Session, row: PageRow) -> Answer:
    """What is told of a page that is stored, as when it came."""
    edges = session.edges([row.number])
    rows = session.pages(sorted({end for edge in edges for end in (edge.a, edge.b)}))
    first = session.first_of(row.cluster)
    rows |= session.pages([first])
    members = {number for number, each in rows.items() if each.cluster == row.cluster}
    features = stored_features(method, session)
    return replace(_answer(method, row, members, edges, rows, features, {}), known=True)


def _answer(
    method: Method,
    row: PageRow,
    members: Iterable[int],
    edges: list[Edge],
    rows: Mapping[int, PageRow],
    features: PageFeatures,
    evidence: Mapping[tuple[int, int], str],
) -> Answer:
    earlier = {number for number in members if number < row.number}
    name = cluster_name(row.cluster) if row.cluster != NONE else None
    before = [edge for edge in edges if _other(edge, row.number) < row.number]
    joined = [edge for edge in before if _other(edge, row.number) in earlier]
    joined = [edge for edge in joined if edge.relation in method.joins] or joined
    if not earlier and not before:
        relation = None if row.decidable else Relation.UNDECIDED
        why = {} if row.decidable else {"why": "too little text to tell"}
        return Answer(row.id, False, name, None, relation, None, why)
    if joined or not earlier:
        best = min(joined or before, key=lambda edge: _closest(edge, row.number))
        other = _other(best, row.number)
        told = evidence.get((best.a, best.b))
        relation = _relation_of(best, row.number)
        similarity = best.similarity
    else:
        other, told = min(earlier), None
        relation, similarity = None, None
    if told is None:
        verdict = features.judge([row.number], [other]).to_pylist()[0]
        told = verdict["evidence"]
        if relation is None:
            relation, similarity = Relation(verdict["relation"]), verdict["similarity"]
    return Answer(
        row.id, bool(earlier), name, rows[other].id, relation, similarity, json.loads(told)
    )


def _other(edge: Edge, number: int) -> int:
    return edge.b if edge.a == number else edge.a


def _closest(edge: Edge, number: int) -> tuple[float, int]:
    return (-(1.0 if edge.similarity is None else edge.similarity), _other(edge, number))


def _relation_of(edge: Edge, number: int) -> Relation:
    relation = Relation(edge.relation)
    return relation if edge.a == number else relation.reverse
