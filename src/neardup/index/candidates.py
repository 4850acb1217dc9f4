"""Which earlier pages a new page may duplicate, and the verdict on each.

As in a batch run, pages that share a key are candidates, and every candidate is judged. A key
shared by very many pages is hot: a mirror, or boilerplate. Only its newest pages stay listed under
it (`rules/candidates.py` explains why no duplicate is lost).

Pages are judged by their features. The store keeps these, like texts, as rows of Arrow batches,
each compressed separately (`arrays.compress_rows`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import TEXT, Mask, compress_rows, decompress, distinct
from neardup.errors import UsageError
from neardup.kernels.grouping import among_first
from neardup.methods.base import Method, OwnSearch, SharedKeys, assigner
from neardup.methods.identical import identity_keys
from neardup.model import Relation
from neardup.rules.candidates import HOT, REACH, added_up, chance_order, packed, unpacked
from neardup.schemas import PAGES
from neardup.stores.schema import Row
from neardup.stores.session import Session

Rows = NDArray[np.int64]

FEW_ENTRIES = 1_000  # of keys that are paired one by one in less time than as arrays
REJECTED = (Relation.DIFFERENT, Relation.UNDECIDED)


@dataclass(frozen=True)
class Bounds:
    """Limits on the work for one arriving page, and the settings of the store."""

    hot: int = HOT  # a key with more pages than this is hot
    reach: int = REACH  # pages that stay listed under a hot key: the newest ones
    candidates: int = 32  # per page: those that share most keys with it, then the newest
    component: int = 200  # pages in a component that is reclustered; more make it large
    window: int | None = None  # microseconds between pages that can match; None: any time
    keep: str | None = None  # the policy (`rules.keeping`) of clusters; None: the first page


BOUNDS = Bounds()


def read_features(
    method: Method, session: Session, numbers: Sequence[int]
) -> tuple[list[int], pa.RecordBatch]:
    """The pages that have stored features, and these features."""
    packed = session.content("features", numbers)
    return list(packed), unpack_features(method, session, packed)[0]


def unpack_features(
    method: Method, session: Session, packed: Mapping[int, bytes]
) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
    """The features of pages, as they are stored by page number; and what the method reads of the
    pages, if it was needed for that.

    A store that keeps texts leaves out what can be made of them again.
    """
    texts = session.content("texts", list(packed)) if method.rebuilt_columns else {}
    if not texts:
        return decompress(method.row_schema, list(packed.values())), None
    features = decompress(method.stored_schema, list(packed.values()))
    pages = decompress(PAGES, [texts[number] for number in packed], method.columns)
    return method.with_rebuilt(features, pages), pages


def pack_features(
    method: Method, features: pa.RecordBatch, rows: Iterable[int], *, with_text: bool
) -> list[bytes]:
    """The features of some rows as they are stored, beside the text of their page or without."""
    if with_text and method.rebuilt_columns:
        return compress_rows(features.select(method.stored_schema.names), rows, TEXT)
    return compress_rows(features, rows)


@dataclass(frozen=True)
class Keys:
    """The keys of a batch of pages as signed numbers, sorted, without repeats within a page."""

    keys: Rows
    numbers: Rows

    @classmethod
    def of(cls, postings: Iterable[Row]) -> Keys:
        """Keys as a store lists them. Taking the numbers one by one is the fastest way in."""
        numbers = np.fromiter(chain.from_iterable(postings), np.int64).reshape(-1, 2)
        return cls(numbers[:, 0], numbers[:, 1])

    def entries(self) -> Iterator[tuple[int, int]]:
        """Each key with its page number."""
        return zip(self.keys.tolist(), self.numbers.tolist(), strict=True)

    def only(self, chosen: Mask) -> Keys:
        """Some of the entries."""
        return Keys(self.keys[chosen], self.numbers[chosen])

    def without(self, others: Keys) -> Keys:
        """The entries that are not among others. Neither have repeats."""
        if not self.keys.size or not others.keys.size:
            return self
        keys = np.concatenate([self.keys, others.keys])
        numbers = np.concatenate([self.numbers, others.numbers])
        order = np.lexsort((numbers, keys))  # stable, so an entry comes before its equal
        keys, numbers = keys[order], numbers[order]
        again = (keys[1:] == keys[:-1]) & (numbers[1:] == numbers[:-1])
        stays = order < self.keys.size
        stays[:-1] &= ~again
        return Keys(keys[stays], numbers[stays])


NO_KEYS = Keys(np.empty(0, np.int64), np.empty(0, np.int64))


def is_exhaustive(method: Method) -> bool:
    """Whether a method compares each page with all others."""
    source = method.candidate_source
    return isinstance(source, OwnSearch) and source.exhaustive


def keys_of(method: Method, features: pa.RecordBatch, numbers: Rows) -> Keys:
    """The keys by page number; none for a method whose pages are compared with all.

    A method that decides in order needs those of identical pages only.
    """
    if is_exhaustive(method):
        return NO_KEYS
    in_order = assigner(method) is not None
    rows, unsigned = identity_keys(features) if in_order else method.row_keys(features)
    keys, pages = unsigned.view(np.int64), numbers[rows]
    order = np.lexsort((pages, keys))
    keys, pages = keys[order], pages[order]
    new = np.ones(keys.size, bool)
    new[1:] = (keys[1:] != keys[:-1]) | (pages[1:] != pages[:-1])
    return Keys(keys[new], pages[new])


@dataclass(frozen=True)
class Candidates:
    """Pairs of page numbers to judge, and how the entries of keys change."""

    left: Rows
    right: Rows
    remembered: Keys  # the entries to add, for the arriving pages
    forgotten: Keys  # the entries to delete: stored pages under hot keys
    present: Keys  # the entries of arriving pages that the store has already


def candidates(
    method: Method,
    session: Session,
    keys: Keys,
    arriving: Mapping[int, int],
    gone: set[int],
    bounds: Bounds,
) -> Candidates:
    """For each arriving page, the earlier pages that share the most keys with it.

    `arriving` maps page numbers to the time when the pages were last added. They come one after
    another, after all stored pages, so the result does not depend on how a stream of pages is cut
    into batches. What the store holds about them, and about the pages in `gone`, is out of date.
    """
    postings = session.postings(distinct(keys.keys).tolist())
    few = len(postings) + keys.keys.size <= FEW_ENTRIES
    candidates_of = candidates_of_few if few else candidates_of_many
    return candidates_of(method, session, postings, keys, arriving, gone, bounds)


def candidates_of_few(
    method: Method,
    session: Session,
    postings: Sequence[Row],
    keys: Keys,
    arriving: Mapping[int, int],
    gone: set[int],
    bounds: Bounds,
) -> Candidates:
    """`candidates_of_many` for a page that comes alone or with a few stored ones to be judged
    again, without the arrays that many need."""
    turn_of = {number: turn for turn, number in enumerate(arriving)}
    outdated = arriving.keys() | gone
    present = NO_KEYS
    if not outdated.isdisjoint(map(itemgetter(1), postings)):
        present = Keys.of(row for row in postings if row[1] in arriving)
        postings = [row for row in postings if row[1] not in outdated]
    listed: dict[int, list[int]] = defaultdict(list)
    for key, number in postings:
        listed[key].append(number)
    coming: dict[int, list[int]] = defaultdict(list)
    for key, number in keys.entries():
        coming[key].append(number)
    beside: dict[int, list[list[int]]] = {page: [] for page in arriving}  # by key
    forgotten: list[tuple[int, int]] = []
    dropped: set[tuple[int, int]] = set()
    for key, pages in coming.items():  # in order of the keys
        entries = listed.get(key, [])
        if len(pages) == 1 and len(entries) <= bounds.hot:  # nearly every key
            beside[pages[0]].append(entries)
            continue
        entries = sorted(entries)
        stored, kept = len(entries), 0
        for page in sorted(pages, key=turn_of.__getitem__):
            if len(entries) - kept > bounds.hot:
                kept = len(entries) - bounds.reach
            beside[page].append(entries[kept:])
            entries.append(page)
        forgotten += [(key, number) for number in entries[: min(kept, stored)]]
        dropped.update((key, number) for number in entries[stored:kept])
    shared = {page: Counter(chain.from_iterable(lists)) for page, lists in beside.items()}
    if bounds.window is not None:
        _leave_out_far_in_time(session, shared, arriving, bounds.window)
    pairs = [
        (min(number, page), max(number, page))
        for page, counts in shared.items()
        for number in _strongest_of(method, page, counts, turn_of, bounds.candidates)
    ]
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    if dropped:
        keys = keys.only(np.array([entry not in dropped for entry in keys.entries()]))
    return Candidates(ends[:, 0], ends[:, 1], keys, Keys.of(forgotten), present)


def _leave_out_far_in_time(
    session: Session,
    shared: Mapping[int, dict[int, int]],
    arriving: Mapping[int, int],
    window: int,
) -> None:
    """Leave out the pages that `are_near_in_time` with none."""
    others = {number for counts in shared.values() for number in counts}
    seen = {**session.seen(sorted(others - arriving.keys())), **arriving}
    for page, counts in shared.items():
        for number in [each for each in counts if abs(seen[each] - arriving[page]) > window]:
            del counts[number]


def _strongest_of(
    method: Method,
    page: int,
    shared: Mapping[int, int],
    turn_of: Mapping[int, int],
    most: int,
) -> list[int]:
    """`_strongest` for one arriving page, from the keys that it shares with others, in order of
    arrival: stored pages come before those of the batch."""
    chosen = list(shared)
    source = method.candidate_source
    if isinstance(source, SharedKeys) and source.max_single_key_pairs is not None:
        single = [number for number, count in shared.items() if count == 1]
        if len(single) > source.max_single_key_pairs:
            others = np.array(single, np.int64)
            turns = np.argsort(chance_order(np.minimum(others, page), np.maximum(others, page)))
            chosen = [number for number, count in shared.items() if count > 1]
            chosen += others[turns[: source.max_single_key_pairs]].tolist()
    chosen.sort(key=lambda number: (turn_of.get(number, -1), number))
    if len(chosen) > most:
        places = sorted(range(len(chosen)), key=lambda at: (-shared[chosen[at]], -at))
        chosen = [chosen[at] for at in sorted(places[:most])]
    return chosen


def candidates_of_many(
    method: Method,
    session: Session,
    postings: Sequence[Row],
    keys: Keys,
    arriving: Mapping[int, int],
    gone: set[int],
    bounds: Bounds,
) -> Candidates:
    """See `candidates`; `postings` are the stored pages under the keys."""
    listed = Keys.of(postings)
    arrives = np.isin(listed.numbers, np.array(list(arriving), np.int64))
    stored = listed.only(~(arrives | np.isin(listed.numbers, np.array(list(gone), np.int64))))
    earlier = distinct(stored.numbers)
    # In order of arrival; a turn is an index into them.
    pages = np.concatenate([earlier, np.array(list(arriving), np.int64)])
    turn_of = {number: turn for turn, number in enumerate(arriving, earlier.size)}
    turns = np.concatenate(
        [
            np.searchsorted(earlier, stored.numbers),
            np.array([turn_of[number] for number in keys.numbers.tolist()], np.int64),
        ]
    )
    every_key = np.concatenate([stored.keys, keys.keys])
    order = np.lexsort((turns, every_key))
    every_key, turns = every_key[order], turns[order]
    first, last = _remembered(every_key, turns >= earlier.size, bounds)
    before, after, shared = _pairs(turns, turns >= earlier.size, first)
    if bounds.window is not None:
        seen = {**session.seen(earlier.tolist()), **arriving}
        near = are_near_in_time(seen, pages[before], pages[after], bounds.window)
        before, after, shared = before[near], after[near], shared[near]
    chosen = _strongest(method, pages, before, after, shared, bounds.candidates)
    ends = np.sort(np.stack([pages[before[chosen]], pages[after[chosen]]]), axis=0)
    new, stays = turns >= earlier.size, np.arange(turns.size) >= last
    every = Keys(every_key, pages[turns])
    remembered, forgotten = every.only(new & stays), every.only(~new & ~stays)
    return Candidates(ends[0], ends[1], remembered, forgotten, listed.only(arrives))


def are_near_in_time(seen: Mapping[int, int], left: Rows, right: Rows, window: int) -> Mask:
    """Which pairs of pages were last added within so many microseconds of each other."""
    ours, theirs = (
        np.array([seen[each] for each in side.tolist()], np.int64) for side in (left, right)
    )
    near: Mask = np.abs(ours - theirs) <= window
    return near


def _remembered(keys: Rows, arrives: Mask, bounds: Bounds) -> tuple[Rows, Rows]:
    """For each entry of a sorted list of keys, the first entry that is still listed under the key:
    when the page of this entry arrives, and at the end.

    When a page arrives under a hot key, all but the newest entries of the key are dropped.
    """
    starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] - 1)) if keys.size else keys
    counts = np.diff(starts, append=keys.size)
    first = np.repeat(starts, counts)
    last = first.copy()
    hot = counts > bounds.hot
    for start, count in zip(starts[hot], counts[hot], strict=True):
        end, kept = start + count, start
        for entry in start + np.flatnonzero(arrives[start:end]):
            if entry - kept > bounds.hot:
                kept = entry - bounds.reach
            first[entry] = kept
        last[start:end] = kept
    return first, last


def _pairs(turns: Rows, arrives: Mask, first: Rows) -> tuple[Rows, Rows, Rows]:
    """Each arriving page paired with the pages listed under its keys, and how many keys the two
    share.
    """
    entry = np.flatnonzero(arrives)
    counts = entry - first[entry]
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    before = turns[np.repeat(first[entry], counts) + offsets]
    after = np.repeat(turns[entry], counts)
    pairs, shared = added_up(packed(after, before), np.ones(after.size, np.int64))
    after, before = unpacked(pairs)
    return before, after, shared


def _strongest(
    method: Method, pages: Rows, before: Rows, after: Rows, shared: Rows, most: int
) -> Rows:
    """The pairs to judge: the first `most` of each arriving page, and among those that share only
    one key no more than the method allows.
    """
    chosen = np.arange(before.size)
    source = method.candidate_source
    if isinstance(source, SharedKeys) and source.max_single_key_pairs is not None:
        turns = chance_order(*np.sort(np.stack([pages[before], pages[after]]), axis=0))
        single = shared == 1
        stays = ~single | among_first(
            after - after.min(initial=0), turns, single, source.max_single_key_pairs
        )
        chosen = chosen[stays]
    page = after[chosen]
    order = chosen[np.lexsort((-before[chosen], -shared[chosen], page))]
    starts = np.flatnonzero(np.diff(after[order], prepend=-1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    return np.sort(order[rank < most])


def all_pairs(method: Method, stored: Sequence[int], own: Sequence[int]) -> tuple[Rows, Rows]:
    """Every page of the batch paired with every stored page and with the others of the batch."""
    most = method.options.maximum_pages
    if len(stored) + len(own) > most:
        raise UsageError(
            f"{method.name} compares each page with every stored one, and {len(stored):,} pages "
            f"are stored, more than its maximum_pages = {most:,}. Raise that option, expire "
            "pages, or use a method with keys (own-text)"
        )
    pairs = [(one, other) for other in own for one in stored]
    pairs += [(one, other) for place, other in enumerate(own) for one in own[:place]]
    sides = np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1)
    return sides[:, 0], sides[:, 1]
