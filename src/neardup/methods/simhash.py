"""`simhash`: near pages have fingerprints that differ in a few bits.

Manku, Jain & Das Sarma 2007, Detecting near-duplicates for web crawling, after Charikar 2002.

* Section 2, the fingerprint: a page is a bag of weighted features; each of the f = 64 bits is the
  weighted vote of the features' hashes (`kernels.simhash`). The paper leaves the
  choice of features open ("standard IR techniques"); here they are runs of `shingle` tokens,
  weighted by how often they occur.
* Section 3, the Hamming distance problem: `candidates`, all pairs at most `k` bits apart, exactly,
  from tables of permuted fingerprints (`kernels.simhash`); and `keys`, the same tables as blocking
  keys, for pipelines that find candidates by keys.
* The rule: near if at most k = 3 bits differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from neardup.arrays import Hashes, Ragged
from neardup.config import option
from neardup.kernels.shingles import shingle_hashes
from neardup.kernels.simhash import (
    BITS,
    FARTHEST,
    distances,
    pairs_within,
    simhash,
    table_keys,
    table_masks,
)
from neardup.methods.base import OwnSearch, key_batch, pair_batch
from neardup.methods.token_method import Comparison, TokenMethod
from neardup.text.sites import Survey


@dataclass(frozen=True, slots=True)
class SimhashOptions:
    k: int = option(3, "bits that may differ", minimum=0, maximum=FARTHEST)
    shingle: int = option(1, "tokens in a feature; 1 is single words", minimum=1, maximum=50)
    spare_blocks: int = option(
        3,
        "blocks in a blocking key; k + this many blocks make the tables "
        "(3 with k = 3: 20 tables of 32 bits, as in the paper)",
        minimum=1,
        maximum=6,
    )
    minimum_tokens: int = option(20, "pages with fewer tokens are undecided", minimum=1)


class Simhash(TokenMethod):
    """64-bit fingerprints, at most k bits apart."""

    name = "simhash"
    paper = "Manku, Jain & Das Sarma 2007"
    cost = "linear features; candidates near linear up to some 100 million pages"
    Options = SimhashOptions
    options: SimhashOptions
    paper_preset = {"minimum_tokens": 1}
    candidate_source = OwnSearch()
    sketch_schema = pa.schema([("fingerprint", pa.uint64())])

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        features = shingle_hashes(*tokens, self.options.shingle)
        return [pa.array(simhash(*features))]

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        keys = table_keys(features["fingerprint"].to_numpy()[rows], self._tables)
        return key_batch(np.repeat(rows, self._tables.size), keys.ravel())

    def search(self, features: pa.Table) -> pa.RecordBatch:
        """Every pair of decidable pages at most k bits apart."""
        rows = self.decidable_rows(features)
        left, right = pairs_within(features["fingerprint"].to_numpy()[rows], self.options.k)
        return pair_batch(rows[left], rows[right])

    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        bits = distances(left["fingerprint"].to_numpy(), right["fingerprint"].to_numpy())
        k = self.options.k
        return Comparison(
            1 - bits / BITS,
            bits <= k,
            [f"{differ} of {BITS} bits differ, {k} may" for differ in bits.tolist()],
            {"bits": bits.tolist(), "k": [k] * bits.size},
        )

    @cached_property
    def _tables(self) -> Hashes:
        return table_masks(self.options.k + self.options.spare_blocks, self.options.k)
