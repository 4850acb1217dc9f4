"""The threshold of `word-table` that is "an average of more than hundred documents".

The average is taken over a sample of the run's pages, those whose ids have the smallest hashes.
The survey step carries their tables to where features are made, and the features of every page
carry the average to where pairs are judged: it depends on the pages alone, not on their order.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.kernels.word_table import measures
from neardup.methods.base import Survey
from neardup.schemas import COUNTS
from neardup.text.keywords import word_hashes

COUNT_BITS = 24  # of a survey count: the frequency is below, the position above
HALF = np.uint64(32)  # of a key


def sampled_tables(
    ids: pa.Array,
    tables: tuple[pa.ListArray, pa.ListArray, pa.ListArray],
    sample: int,
    minimum_words: int,
) -> pa.RecordBatch:
    """The tables of the pages with the smallest hashes of their ids, as survey counts.

    A key is 32 bits of the page's hash and 32 of the word's.
    """
    marks = word_hashes(ids) >> HALF
    lengths = pc.list_value_length(tables[0]).to_numpy()
    enough = np.flatnonzero(lengths >= minimum_words)
    chosen = pa.array(enough[np.argsort(marks[enough], kind="stable")[:sample]])
    words, frequencies, positions = (table.take(chosen).flatten().to_numpy() for table in tables)
    owners = np.repeat(marks[chosen.to_numpy()], lengths[chosen.to_numpy()])
    keys = owners << HALF | words >> HALF
    counts = positions << COUNT_BITS | np.minimum(frequencies, 2**COUNT_BITS - 1)
    return pa.record_batch([keys, counts], schema=COUNTS)


def average_measure(survey: Survey, sample: int) -> float:
    """The average SM over all pairs of the sampled pages; 0 when there are no two."""
    owners = survey.keys >> HALF
    marks, starts = np.unique(owners, return_index=True)
    chosen = len(marks[:sample])
    offsets = np.append(starts, owners.size)[: chosen + 1].astype(np.int64)
    words = survey.keys & np.uint64(0xFFFFFFFF)
    frequencies, positions = survey.counts & 2**COUNT_BITS - 1, survey.counts >> COUNT_BITS
    left, right = np.triu_indices(chosen, 1)
    s1, s2, s3, _ = measures(words, frequencies, positions, offsets, left, right)
    sizes = np.diff(offsets)
    measured = (s1 + (s2 + s3)) / ((sizes[left] + sizes[right]) / 2)
    return float(measured.mean()) if measured.size else 0.0
