"""Rows of Arrow batches as compressed bytes, and back.

Which stored pages a new page may duplicate, and the verdict on each.

As in a batch, pages that share a key are candidates and every candidate is judged. A key that
very many pages have is hot: a mirror or boilerplate. Of its pages only the newest are remembered
under it (`candidates/grouping.py` says why that loses nothing).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import zstandard
from numpy.typing import NDArray

from neardup.errors import UsageError
from neardup.methods.base import JudgesInPlace, Method, Places, ProposesCandidates
from neardup.model import Relation
from neardup.rules.candidates import (
    HOT,
    REACH,
    added_up,
    packed,
    pairs_sharing_keys,
    unpacked,
    worth_judging,
)
from neardup.stores.session import Session

TEXT = 1  # levels of compression; higher ones save a few per cent and cost as much as parsing
NUMBERS = -1  # hashes hardly shrink
MOST_BYTES = 1 << 31

_here = threading.local()  # compressors must not be shared by threads


def pack(batch: pa.RecordBatch, level: int = NUMBERS) -> bytes:
    """A batch without its schema."""
    if not hasattr(_here, "compressors"):
        _here.compressors = {each: zstandard.ZstdCompressor(each) for each in (TEXT, NUMBERS)}
    packed: bytes = _here.compressors[level].compress(batch.serialize())
    return packed


def pack_rows(batch: pa.RecordBatch, level: int = NUMBERS) -> list[bytes]:
    """Each row by itself."""
    return [pack(batch.slice(row, 1), level) for row in range(batch.num_rows)]


def unpack(schema: pa.Schema, packed: Sequence[bytes]) -> pa.RecordBatch:
    """What was packed, as one batch."""
    if not packed:
        return pa.RecordBatch.from_pylist([], schema)
    if not hasattr(_here, "decompressor"):
        _here.decompressor = zstandard.ZstdDecompressor()
    decompress = _here.decompressor.decompress
    rows = [
        pa.ipc.read_record_batch(pa.py_buffer(decompress(each, MOST_BYTES)), schema)
        for each in packed
    ]
    return rows[0] if len(rows) == 1 else pa.concat_batches(rows)


Rows = NDArray[np.int64]

MOST_CANDIDATES = 32  # of a page: those that share the most keys with it, then the newest
REJECTED = (Relation.DIFFERENT, Relation.UNDECIDED)


@dataclass(frozen=True)
class PageFeatures:
    """The features of the pages at hand; those of others are fetched when they are asked for."""

    method: Method
    session: Session
    batch: pa.RecordBatch
    place: dict[int, int]  # row of the batch by page number

    def take(self, numbers: Sequence[int]) -> pa.RecordBatch:
        """The features of these pages, in this order."""
        distinct = sorted(set(numbers))
        here = [number for number in distinct if number in self.place]
        stored = self._stored(distinct)
        rows = {number: row for row, number in enumerate([*here, *stored])}
        ours = self.batch.take(pa.array([self.place[number] for number in here], pa.int64()))
        theirs = unpack(self.method.feature_schema, list(stored.values()))
        both = pa.concat_batches([ours, theirs])
        return both.take(pa.array([rows[number] for number in numbers], pa.int64()))

    def judge(self, left: Sequence[int], right: Sequence[int]) -> pa.RecordBatch:
        """The verdicts on pairs of pages."""
        if not isinstance(self.method, JudgesInPlace):
            return self.method.judge(self.take(left), self.take(right))
        stored = self._stored({*left, *right})
        theirs = {number: row for row, number in enumerate(stored)}
        batches = [self.batch]
        if stored:
            batches.append(unpack(self.method.feature_schema, list(stored.values())))
        return self.method.judge_in_place(
            batches, self._places(left, theirs), self._places(right, theirs)
        )

    def relations(
        self, left: Sequence[int], right: Sequence[int]
    ) -> list[tuple[str, float | None]]:
        """Relation and similarity of pairs of pages."""
        verdicts = self.judge(left, right)
        columns = verdicts["relation"].to_pylist(), verdicts["similarity"].to_pylist()
        return list(zip(*columns, strict=True))

    def _stored(self, numbers: Iterable[int]) -> dict[int, bytes]:
        """The features of those pages that are not at hand."""
        return self.session.content("features", sorted(set(numbers) - self.place.keys()))

    def _places(self, numbers: Sequence[int], stored: Mapping[int, int]) -> Places:
        """Where pages stand: among those at hand, or by their row among the stored ones."""
        batches = [int(number in stored) for number in numbers]
        rows = [stored[each] if each in stored else self.place[each] for each in numbers]
        return Places(np.array(batches, np.int32), np.array(rows, np.int32))


def stored_features(method: Method, session: Session) -> PageFeatures:
    """The features of stored pages, with none at hand."""
    return PageFeatures(method, session, pa.RecordBatch.from_pylist([], method.feature_schema), {})


@dataclass(frozen=True)
class Keys:
    """The keys of a batch of pages, as signed numbers, each once a page, in order."""

    keys: Rows
    numbers: Rows

    def entries(self) -> Iterator[tuple[int, int]]:
        """Each key with its page number."""
        return zip(self.keys.tolist(), self.numbers.tolist(), strict=True)


def keys_of(method: Method, features: pa.RecordBatch, numbers: Rows) -> Keys:
    """The keys by page number; none for a method whose pages are compared with all."""
    if method.compares_all:
        return Keys(np.empty(0, np.int64), np.empty(0, np.int64))
    found = method.keys(features)
    keys, pages = found["key"].to_numpy().view(np.int64), numbers[found["row"].to_numpy()]
    order = np.lexsort((pages, keys))
    keys, pages = keys[order], pages[order]
    new = np.ones(keys.size, bool)
    new[1:] = (keys[1:] != keys[:-1]) | (pages[1:] != pages[:-1])
    return Keys(keys[new], pages[new])


@dataclass(frozen=True)
class Candidates:
    """Pairs of page numbers that are worth judging, and keys that have become hot."""

    left: Rows
    right: Rows
    cooled: list[tuple[int, int]]  # keys that are to be taken from pages


def candidates(method: Method, session: Session, keys: Keys, own: set[int]) -> Candidates:
    """The stored pages and each other that the pages of a batch share keys with.

    `own` are the numbers of the batch: what the store holds of them is out of date.
    """
    postings = session.postings(np.unique(keys.keys).tolist())
    found = np.array(postings or np.empty((0, 2)), np.int64).reshape(-1, 2)
    found = found[~np.isin(found[:, 1], list(own))]
    bounded = not isinstance(method, ProposesCandidates)
    cooled: list[tuple[int, int]] = []
    if bounded:
        found, cooled = _cool(found)
    within = pairs_sharing_keys(keys.numbers, keys.keys.view(np.uint64))
    across = _join(keys, found)
    left, right, shares = (np.concatenate(both) for both in zip(within, across, strict=True))
    pairs, shared = added_up(packed(left, right), shares)
    left, right = unpacked(pairs)
    if method.chance_pairs is not None:
        stays = worth_judging(left, right, shared, method.chance_pairs)
        left, right, shared = left[stays], right[stays], shared[stays]
    if bounded:
        left, right = _strongest(left, right, shared, own)
    return Candidates(left, right, cooled)


def _cool(postings: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """The postings with only the newest pages of hot keys, and what is left out."""
    order = np.lexsort((-postings[:, 1], postings[:, 0]))
    postings = postings[order]
    starts = np.flatnonzero(np.diff(postings[:, 0], prepend=np.nan))
    counts = np.diff([*starts, len(postings)])
    rank = np.arange(len(postings)) - np.repeat(starts, counts)
    too_many = (np.repeat(counts, counts) > HOT) & (rank >= REACH)
    left_out = [(key, number) for key, number in postings[too_many].tolist()]
    return postings[~too_many], left_out


def _join(keys: Keys, postings: NDArray[np.int64]) -> tuple[Rows, Rows, Rows]:
    """Each pair of a page of the batch and a stored page, once for each key they share."""
    first = np.searchsorted(keys.keys, postings[:, 0], "left")
    count = np.searchsorted(keys.keys, postings[:, 0], "right") - first
    stored = np.repeat(postings[:, 1], count)
    offsets = np.arange(stored.size) - np.repeat(np.cumsum(count) - count, count)
    ours = keys.numbers[np.repeat(first, count) + offsets]
    return np.minimum(stored, ours), np.maximum(stored, ours), np.ones(stored.size, np.int64)


def _strongest(left: Rows, right: Rows, shared: Rows, own: set[int]) -> tuple[Rows, Rows]:
    """The pairs that are among the first `MOST_CANDIDATES` of a page of the batch."""
    chosen = np.zeros(left.size, bool)
    for page, other in ((left, right), (right, left)):
        mine = np.flatnonzero(np.isin(page, list(own)))
        order = mine[np.lexsort((-other[mine], -shared[mine], page[mine]))]
        starts = np.flatnonzero(np.diff(page[order], prepend=-1))
        rank = np.arange(order.size) - np.repeat(starts, np.diff([*starts, order.size]))
        chosen[order[rank < MOST_CANDIDATES]] = True
    return left[chosen], right[chosen]


def all_pairs(method: Method, stored: Sequence[int], own: Sequence[int]) -> Candidates:
    """Every page of the batch with every stored page and with each other."""
    most = method.options.maximum_pages
    if len(stored) + len(own) > most:
        raise UsageError(
            f"{method.name} compares each page with all that is stored, and {len(stored):,} pages "
            f"are: more than its maximum_pages = {most:,}. Raise that option, expire pages, or "
            "take a method that has keys (own-text)"
        )
    pairs = [(one, other) for other in own for one in stored]
    pairs += [(one, other) for place, other in enumerate(own) for one in own[:place]]
    sides = np.sort(np.array(pairs, np.int64).reshape(-1, 2), axis=1)
    return Candidates(sides[:, 0], sides[:, 1], [])
