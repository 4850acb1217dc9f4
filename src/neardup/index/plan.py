"""The changes that a batch of pages makes to the index.

`make_plan` reads as the algorithm: it computes all changes and writes nothing. `apply_plan` writes
them. `query` stops after the first step and `add` goes on to the second, so both give the same
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from neardup.arrays import compress, decompress, text_lengths
from neardup.index.candidates import (
    NO_KEYS,
    REJECTED,
    Bounds,
    Keys,
    all_pairs,
    are_near_in_time,
    candidates,
    is_exhaustive,
    pack_features,
)
from neardup.index.features import (
    Described,
    FeatureMemory,
    PageFeatures,
    Place,
    relations_in,
    stored_keys,
)
from neardup.index.groups import group_pages
from neardup.index.kept import choose_pages
from neardup.index.names import NONE, Naming, name_clusters
from neardup.index.sites import (
    ALL,
    SURVEYED,
    PageCounts,
    SiteKeys,
    Sites,
    doubles,
    sites_of,
    survey_of_all,
    survey_of_sites,
)
from neardup.index.state import ALIASES, StoredState, turn
from neardup.kernels.identity import NEITHER
from neardup.methods.base import Assigns, Method, SurveyResults, assigner
from neardup.methods.identical import verdicts_on
from neardup.schemas import PAGES
from neardup.stores.records import Edge, PageRow
from neardup.stores.session import Session
from neardup.text.sites import Survey, add_counts

FEW_PAIRS = 2  # whose evidence is made at once: one of them is likely to be the answer


class Memory(NamedTuple):
    """What an index keeps of stored pages between calls: never needed, and always right."""

    counts: PageCounts
    features: FeatureMemory
    texts: bool  # whether the store keeps the texts of pages, so that they can be described again

    def keep(self, plan: Plan) -> None:
        """Keep what a plan knows, now that it is stored."""
        self.counts.keep(plan.counted.items())
        self.features.keep(plan.features.own, plan.packed)


@dataclass
class Plan:
    """New pages, stored pages to be judged again with them, and the resulting changes."""

    rows: dict[int, PageRow]  # of every page in a group, by number, with its present cluster
    fresh: list[int]  # the numbers of new pages, in the order of the batch
    stale: list[int]  # the numbers of stored pages whose features change
    pages: pa.RecordBatch  # the new pages
    features: PageFeatures  # of the new pages, then of the stale ones
    keys: Keys  # of the pages with new features
    sites: Sites
    edges: list[Edge]
    evidence: dict[tuple[int, int], str]  # of pairs in `edges`, as far as it is known
    groups: list[list[int]]
    forgotten: Keys = NO_KEYS  # hot keys of stored pages
    present: Keys = NO_KEYS  # those of `keys` that are stored
    state: StoredState | None = None
    survey: pa.RecordBatch | None = None  # of all pages, if it was made anew
    surveyed: int = 0
    before: dict[int, Place] = field(default_factory=dict)  # the features of stale pages so far
    packed: list[bytes] = field(default_factory=list)  # the features, as they were written
    counted: dict[int, SiteKeys] = field(default_factory=dict)  # by number: see `PageCounts`

    @property
    def numbers(self) -> list[int]:
        """The pages with new features."""
        return self.fresh + self.stale

    def last_seen(self, numbers: Iterable[int]) -> dict[int, int]:
        """When these pages were last added."""
        return {number: self.rows[number].seen for number in numbers}


def make_plan(
    method: Method,
    session: Session,
    pages: pa.RecordBatch,
    observed: Sequence[bool | None],
    first: int,
    at: int,
    replaced: Mapping[str, PageRow],
    bounds: Bounds,
    memory: Memory,
) -> Plan:
    """The changes that adding `pages` would make; they are numbered from `first` on.

    `replaced` are the stored pages, by id, that new ones replace; `memory` has some of what is
    stored.
    """
    gone = {row.number for row in replaced.values()}
    fresh = list(range(first, first + pages.num_rows))
    sites = _without(sites_of(method, session, pages), gone)
    stale = _stale(method, session, sites, pages.num_rows, gone)
    before = memory.features.read(method, session, stale)
    batch, stale = _with_stored(method, session, pages, stale, before)
    surveyed, counted, own_counts = _survey(method, session, sites, batch, stale, memory.counts)
    features = method.describe(batch, surveyed)
    new, stale_rows = len(fresh), _changed_rows(features, stale, before)
    stale = [stale[row - new] for row in stale_rows]
    places, texts = [*range(new), *stale_rows], batch if memory.texts else None
    described = Described(method, [*fresh, *stale], features, places, texts)
    at_hand = PageFeatures(method, session, described, memory.features)
    rows = _rows(method, session, pages, observed, described, fresh, stale, at)
    plan = Plan(
        {number: _in_place(row, replaced) for number, row in rows.items()},
        fresh,
        stale,
        pages,
        at_hand,
        described.every_key,
        sites,
        [],
        {},
        [],
        survey=counted,
        surveyed=batch.num_rows,
        before={number: before[number] for number in stale},
        counted=dict(zip(fresh, own_counts, strict=False)),
    )
    if (decides := assigner(method)) is not None:
        plan.state = StoredState(session)
        copies = _join_identical(method, session, plan, at_hand, gone, bounds)
        _decide_in_order(decides, session, plan, copies)
    else:
        _judge_candidates(method, session, plan, at_hand, gone, bounds)
    plan.groups, others = group_pages(
        method,
        session,
        {number: plan.rows[number] for number in plan.numbers},
        plan.edges,
        void=gone.union(stale),
        gone=gone,
        judge=at_hand.relations,
        bounds=bounds,
        unstored=fresh,
    )
    plan.rows |= others
    return plan


def _without(sites: Sites, gone: set[int]) -> Sites:
    if not gone:
        return sites
    samples = {
        site: [number for number in sample if number not in gone]
        for site, sample in sites.samples.items()
    }
    return Sites(sites.pages, sites.rows, samples)


def _stale(
    method: Method, session: Session, sites: Sites, arriving: int, gone: set[int]
) -> list[int]:
    """Stored pages to be judged again, because more is known about their site or the corpus."""
    if assigner(method) is not None:
        return []  # decisions made in order are final
    if method.surveys is not None:
        before = session.count_pages()
        if doubles(before, before + arriving):
            return [row.number for row in session.every_page() if row.number not in gone]
    return sites.stale()


def _with_stored(
    method: Method,
    session: Session,
    pages: pa.RecordBatch,
    stale: list[int],
    before: Mapping[int, Place],
) -> tuple[pa.RecordBatch, list[int]]:
    """The new pages, and the stale ones whose text is stored: with what the method reads of
    them."""
    if not stale:
        return pages, []
    names = [name for name in method.columns if name in pages.schema.names]
    known = {number: place.page(names) for number, place in before.items()}
    texts = session.content("texts", [number for number in stale if known.get(number) is None])
    known |= {number: decompress(PAGES, [text], names) for number, text in texts.items()}
    stored = {number: page for number in stale if (page := known.get(number)) is not None}
    if not stored:
        return pages, []
    return pa.concat_batches([pages.select(names), *stored.values()]), list(stored)


def _changed_rows(
    features: pa.RecordBatch, stale: list[int], before: Mapping[int, Place]
) -> list[int]:
    """The rows of the stale pages, the last ones, whose features change. The other pages, about
    half, keep their keys and pairs."""
    return [
        row
        for row, number in enumerate(stale, features.num_rows - len(stale))
        if not features.slice(row, 1).equals(before[number].slice())
    ]


def _survey(
    method: Method,
    session: Session,
    sites: Sites,
    batch: pa.RecordBatch,
    stale: list[int],
    counts: PageCounts,
) -> tuple[SurveyResults, pa.RecordBatch | None, list[SiteKeys]]:
    """The surveys that features depend on, the counts over all pages if they are to be kept, and
    what each row of the batch counts for on its sites."""
    surveyed = SurveyResults()
    own: list[SiteKeys] = []
    if (site_counts := method.site_counts) is not None:
        siblings = counts.of(site_counts, session, sorted({*sites.siblings()} - {*stale}))
        on_sites, own = survey_of_sites(site_counts, sites, batch, siblings)
        surveyed = surveyed._replace(sites=on_sites)
    if (surveys := method.surveys) is None:
        return surveyed, None, own
    viewed = method.viewed(batch, surveyed)
    before = session.count_pages()
    if not doubles(before, before + batch.num_rows - len(stale)):
        return surveyed._replace(corpus=survey_of_all(surveys, session, viewed)), None, own
    counted = add_counts([surveys.survey(viewed)])
    return surveyed._replace(corpus=Survey.from_counts(batch.num_rows, [counted])), counted, own


def _rows(
    method: Method,
    session: Session,
    pages: pa.RecordBatch,
    observed: Sequence[bool | None],
    described: Described,
    fresh: list[int],
    stale: list[int],
    at: int,
) -> dict[int, PageRow]:
    groups = host_groups(method, described.batch)
    decidable = method.decidable(described.batch).to_pylist()
    columns = [pages[name].to_pylist() for name in ("id", "url", "host", "title")]
    times = pages["time"].view(pa.int64()).to_pylist()
    sizes = pages["size"].to_pylist()
    lengths = text_lengths(pages["text"])
    digests = pages["digest"].to_numpy().view(np.int64).tolist()
    new = len(fresh)  # the stale pages come after the new ones
    added = [[at] * new, [at] * new]  # and seen
    judged = groups[:new], decidable[:new], [NONE] * new
    named = pages["canonical_url"].to_pylist()
    fields = (fresh, *columns, times, *added, sizes, lengths, digests, *judged, named, observed)
    rows = {row.number: row for row in map(PageRow, *fields)}
    stored = session.pages(stale)
    for number, place in zip(stale, described.places[new:], strict=True):
        rows[number] = stored[number]._replace(sister=groups[place], decidable=decidable[place])
    return rows


def _in_place(row: PageRow, replaced: Mapping[str, PageRow]) -> PageRow:
    """A page that replaces another starts in its cluster and keeps its date of arrival."""
    old = replaced.get(row.id)
    return row if old is None else row._replace(cluster=old.cluster, added=old.added)


def host_groups(method: Method, features: pa.RecordBatch) -> list[int]:
    """The same-host group of each page, as stores keep it; 0 for none."""
    groups: list[int] = method.same_host_group(features).view(np.int64).tolist()
    return groups


def _judge_candidates(
    method: Method,
    session: Session,
    plan: Plan,
    at_hand: PageFeatures,
    gone: set[int],
    bounds: Bounds,
) -> None:
    if is_exhaustive(method):
        stored = [row.number for row in session.pages_after(0, method.options.maximum_pages + 1)]
        outdated = gone.union(plan.stale)
        left, right = all_pairs(method, [n for n in stored if n not in outdated], plan.numbers)
        if bounds.window is not None:
            seen = session.seen(stored) | plan.last_seen(plan.numbers)
            near = are_near_in_time(seen, left, right, bounds.window)
            left, right = left[near], right[near]
    else:
        arriving = plan.last_seen([*plan.stale, *plan.fresh])
        pairs = candidates(method, session, plan.keys, arriving, gone, bounds)
        left, right = pairs.left, pairs.right
        plan.keys, plan.forgotten = pairs.remembered, pairs.forgotten
        plan.present = pairs.present
    if left.size:
        pair = left.tolist(), right.tolist()
        evidence = left.size <= FEW_PAIRS
        judged = at_hand.judge(*pair, evidence=evidence)
        keep_edges(plan, *pair, relations_in(judged))
        if evidence:
            plan.evidence |= zip(
                zip(*pair, strict=True), judged["evidence"].to_pylist(), strict=True
            )


def keep_edges(
    plan: Plan,
    left: Sequence[int],
    right: Sequence[int],
    verdicts: Iterable[tuple[str, float | None]],
) -> None:
    """Keep the judged pairs that have something in common."""
    for a, b, (relation, similarity) in zip(left, right, verdicts, strict=True):
        if relation not in REJECTED:
            plan.edges.append(Edge(a, b, relation, similarity))


def _join_identical(
    method: Method,
    session: Session,
    plan: Plan,
    at_hand: PageFeatures,
    gone: set[int],
    bounds: Bounds,
) -> set[int]:
    """Join new pages with earlier ones that they are identical with; gives those pages."""
    pairs = candidates(method, session, plan.keys, plan.last_seen(plan.fresh), gone, bounds)
    plan.keys, plan.forgotten = pairs.remembered, pairs.forgotten
    if not pairs.left.size:
        return set()
    kinds = at_hand.identical(pairs.left.tolist(), pairs.right.tolist())
    joins = kinds > NEITHER
    pair = pairs.left[joins].tolist(), pairs.right[joins].tolist()
    judged = verdicts_on(kinds[joins])
    keep_edges(plan, *pair, relations_in(judged))
    plan.evidence |= zip(zip(*pair, strict=True), judged["evidence"].to_pylist(), strict=True)
    return {*pair[1]}


def _decide_in_order(method: Assigns, session: Session, plan: Plan, copies: set[int]) -> None:
    """Page by page in the order of (time, id) within the batch, against the stored state; copies
    have been decided."""
    rows = [plan.rows[number] for number in plan.fresh]
    order = sorted(
        (place for place, row in enumerate(rows) if row.number not in copies),
        key=lambda place: turn(rows[place]),
    )
    ids = pa.array([rows[place].id for place in order], pa.string())
    assert plan.state is not None
    assigned = method.assign(
        ids, plan.features.own.batch.take(pa.array(order, pa.int64())), plan.state
    )
    numbers = {row.id: row.number for row in rows}
    for place, match in zip(order, assigned.to_pylist(), strict=True):
        other = _number_of(match["match"], rows[place].id, numbers, session, plan.state)
        if other is None or other == rows[place].number:
            continue
        edge = Edge.between(rows[place].number, other, match["relation"], match["similarity"])
        plan.edges.append(edge)
        plan.evidence[edge.a, edge.b] = match["evidence"]


def _number_of(
    match: str | None, page: str, numbers: dict[str, int], session: Session, state: StoredState
) -> int | None:
    """The number of the page that the state names; for a removed page that of its alias."""
    aliases = state.map(ALIASES)
    while match is not None and match not in numbers:
        stored = session.known([match]).get(match)
        if stored is not None:
            numbers[match] = stored.number
        elif not aliases.get(match):
            aliases[match] = page
            return None
        else:
            match = aliases[match]
    return None if match is None else numbers[match]


def apply_plan(
    method: Method,
    session: Session,
    plan: Plan,
    at: int,
    texts: Sequence[bytes] | None,
    bounds: Bounds,
) -> Naming:
    """Write the new pages, the changes of stored pages, and the clusters.

    `texts` are the compressed new pages; None if texts are not kept.
    """
    naming = name_clusters(session, plan.groups, plan.rows, at)
    session.drop_edges(plan.stale)
    session.put_pages([_placed(plan.rows[number], naming) for number in plan.fresh])
    session.update_pages(
        (plan.rows[number].sister, plan.rows[number].decidable, number) for number in plan.stale
    )
    _put_keys(session, plan)
    _put_content(method, session, plan, texts)
    session.drop_sites(plan.sites.retired())
    session.put_sites(plan.sites.taken_up(plan.fresh))
    if texts is None:
        _forget_surveys(session, {number for _, number in plan.sites.retired()})
    session.put_edges(plan.edges)
    if plan.state is not None:
        session.put_state(plan.state.written)
        session.drop_state(plan.state.dropped)
    naming.apply(session, set(plan.fresh))
    grouped = (plan.rows[page] for group in plan.groups for page in group)
    clusters = {naming.clusters.get(row.number, row.cluster) for row in grouped}
    choose_pages(session, clusters.union(naming.changed), naming, bounds)
    return naming


def _placed(row: PageRow, naming: Naming) -> PageRow:
    return row._replace(cluster=naming.clusters.get(row.number, row.cluster))


def _put_keys(session: Session, plan: Plan) -> None:
    """Write only the entries of keys that change: each is in another place of the file."""
    gone = stored_keys(plan.before).without(plan.keys)
    session.drop_keys([*plan.forgotten.entries(), *gone.entries()])
    session.put_keys(plan.keys.without(plan.present).entries())


def _put_content(
    method: Method,
    session: Session,
    plan: Plan,
    texts: Sequence[bytes] | None,
) -> None:
    own = plan.features.own
    plan.packed = packed = pack_features(method, own.batch, own.places, with_text=texts is not None)
    new = len(plan.fresh)
    session.put_content("features", zip(plan.fresh, packed[:new], strict=True))
    session.replace_content("features", list(zip(plan.stale, packed[new:], strict=True)))
    if texts is not None:
        session.put_content("texts", zip(plan.fresh, texts, strict=True))
    elif (counts := method.site_counts) is not None:
        surveys = [compress(counts.count(page)) for page in _one_by_one(plan.pages)]
        session.put_content("surveys", zip(plan.fresh, surveys, strict=True))
    if plan.survey is not None:
        session.replace_content("surveys", [(ALL, compress(plan.survey))])
        session.keep_setting(SURVEYED, str(plan.surveyed))


def _forget_surveys(session: Session, retired: set[int]) -> None:
    """Delete the counts of pages that no longer represent any site."""
    session.drop_content("surveys", sorted(retired - session.standing(sorted(retired))))


def _one_by_one(pages: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [pages.slice(row, 1) for row in range(pages.num_rows)]


def forget_pages(method: Method, session: Session, numbers: Sequence[int]) -> None:
    """Delete all that is stored of pages, except from their clusters, which the caller updates."""
    if not numbers:
        return
    places = FeatureMemory().read(method, session, numbers)
    session.drop_keys(stored_keys(places).entries())
    session.drop_pages(numbers)
