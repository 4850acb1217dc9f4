"""Candidates: which pairs of pages are worth judging.

Keys are sorted range by range, as many at a time as memory allows, and pages that share a key are
paired (`rules.candidates`). A method with its own search finds its candidates itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import Numbers
from neardup.local.features import Features
from neardup.local.run import cut_range, key_ranges, ordered_map, together
from neardup.local.work import Run, in_order_of_keys
from neardup.methods.base import Method, Searches, SharedKeys, searcher
from neardup.methods.identical import identity_pairs
from neardup.rules.candidates import (
    added_up,
    packed,
    pairs_sharing_keys,
    pairs_with_first,
    unpacked,
    without_most_single_key_pairs,
)
from neardup.schemas import KEYS, PAIRS

KEY_BYTES = 16  # per row and key
SHARING = pa.schema([*PAIRS, pa.field("shared", pa.int64(), nullable=False)])  # keys

Number = TypeVar("Number", np.int64, np.uint64)


def find_candidates(method: Method, features: Features, run: Run) -> tuple[Numbers, Numbers]:
    """Every pair worth judging, once, in order; keys and pairs go to the work directory."""
    if (searches := searcher(method)) is not None:
        with run.stages("candidates") as stage:
            pairs = run.parts("pairs", SHARING)
            pairs.fill([searches], lambda each: (_search(each, features.all()), 0), 1, stage)
            return _chosen(method, pairs.each())
    keys = run.parts("keys", KEYS, compressed=False)
    with run.stages("keys", total=len(features)) as stage:
        cut = run.work is not None  # in memory all keys are paired at once, in one order
        every = range(len(features.batches))
        numbers = together(every) if cut else ([batch] for batch in every)
        keys.fill(numbers, lambda some: (_keys(method, features, some, cut), 0), run.workers, stage)
    with run.stages("candidates") as stage:
        size = sum(part.rows for part in keys.listed) * 4 * KEY_BYTES
        ranges = key_ranges(size, run.memory)
        pairs = run.parts("pairs", SHARING, cuts=len(ranges))

        def pair_range(keys_of: tuple[int, int]) -> tuple[pa.RecordBatch, int]:
            pieces = cut_range(keys_of, run.workers if cut else 1)
            found = ordered_map(
                lambda piece: _pairs(method, keys.each_range(*piece)), pieces, run.workers
            )
            return pa.concat_batches(found), 0

        pairs.fill(ranges, pair_range, 1, stage)
        return _chosen(method, pairs.each())


def candidates_in_memory(method: Method, features: pa.Table) -> tuple[Numbers, Numbers]:
    """Candidate pairs among features that are all in memory."""
    if (searches := searcher(method)) is not None:
        return _chosen(method, [_search(searches, features)])
    batches = features.to_batches()
    starts = np.cumsum([0, *(batch.num_rows for batch in batches)])
    keys = [
        _numbered(method.row_keys(batch), np.arange(start, start + batch.num_rows))
        for start, batch in zip(starts[:-1].tolist(), batches, strict=True)
    ]
    return _chosen(method, [_pairs(method, keys)])


def _search(method: Searches, features: pa.Table) -> pa.RecordBatch:
    """What the method finds, and identical pages, which it may have too little text to find."""
    identical = [identity_pairs(batch) for batch in features.combine_chunks().to_batches()]
    return _sharing_one(pa.concat_batches([method.search(features), *identical]))


def _keys(
    method: Method, features: Features, batches: Sequence[int], in_order: bool
) -> pa.RecordBatch:
    """The keys of some batches of features, by page number."""
    keys = []
    for batch in batches:
        keys.append(_numbered(method.row_keys(features.batches[batch]), features.numbers[batch]))
        features.release(batch)
    joined = keys[0] if len(keys) == 1 else pa.concat_batches(keys)
    return in_order_of_keys(joined) if in_order else joined


def _numbered(keys: pa.RecordBatch, pages: Numbers) -> pa.RecordBatch:
    """Keys by page number instead of row."""
    return pa.record_batch([pages[keys["row"].to_numpy()], keys["key"]], schema=KEYS)


def _pairs(method: Method, batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """The pairs that share a key, and how many they share."""
    rows, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for batch in batches:
        rows.append(batch["row"].to_numpy())
        keys.append(batch["key"].to_numpy())
    source = method.candidate_source
    if isinstance(source, SharedKeys) and source.decisive:
        firsts = pairs_with_first(_joined(rows), _joined(keys))
        return _sharing_one(pa.record_batch(list(firsts), schema=PAIRS))
    sharing = pairs_sharing_keys(_joined(rows), _joined(keys))
    return pa.record_batch(list(sharing), schema=SHARING)


def _sharing_one(pairs: pa.RecordBatch) -> pa.RecordBatch:
    """Pairs for which the number of shared keys does not matter."""
    return pa.record_batch([*pairs.columns, np.ones(pairs.num_rows, np.int64)], schema=SHARING)


def _chosen(method: Method, batches: Iterable[pa.RecordBatch]) -> tuple[Numbers, Numbers]:
    """The pairs worth judging, each once, in order."""
    every, shares = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in batches:
        every.append(packed(batch["left"].to_numpy(), batch["right"].to_numpy()))
        shares.append(batch["shared"].to_numpy())
    pairs, shared = added_up(_joined(every), _joined(shares))
    left, right = unpacked(pairs)
    source = method.candidate_source
    if not isinstance(source, SharedKeys) or source.max_single_key_pairs is None:
        return left, right
    return without_most_single_key_pairs(left, right, shared, source.max_single_key_pairs)


def _joined(parts: list[NDArray[Number]]) -> NDArray[Number]:
    """All numbers as one array; the list is emptied, to free the memory of its parts."""
    numbers = np.concatenate(parts)
    parts.clear()
    return numbers
