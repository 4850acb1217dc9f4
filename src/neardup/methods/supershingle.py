"""`supershingle`: two of six super shingles in common.

Fetterly, Manasse & Najork 2003, On the evolution of clusters of near-duplicate web pages, after
Broder et al. 1997.

* Shingles are all runs of 5 words. The minimum under each of 84 permutations gives 84 samples
  (`kernels.minhash.permutations`).
* A super shingle is a hash of 14 consecutive samples; there are 6. Two pages with resemblance p
  agree in one with probability p^14.
* A megashingle is a pair of super shingles; there are 15. Pages share a megashingle exactly if they
  share 2 super shingles, so megashingles are the blocking keys, and sharing one means near.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import Hashes, Ragged, fixed_lists
from neardup.config import option
from neardup.errors import UsageError
from neardup.kernels.minhash import group_hashes, permutations
from neardup.kernels.shingles import document_hashes, shingle_hashes
from neardup.methods.base import SharedKeys, key_batch
from neardup.methods.token_method import Comparison, TokenMethod
from neardup.text.sites import Survey
from neardup.text.views import View


@dataclass(frozen=True, slots=True)
class SupershingleOptions:
    shingle: int = option(5, "tokens in a shingle", minimum=1, maximum=50)
    samples: int = option(14, "samples per super shingle", minimum=1, maximum=100)
    supershingles: int = option(6, "super shingles per page", minimum=1, maximum=12)
    common: int = option(2, "super shingles that near pages share", minimum=1, maximum=12)
    minimum_tokens: int = option(20, "pages with fewer tokens are undecided", minimum=1)


class Supershingle(TokenMethod):
    """Hashes of groups of min-wise samples."""

    name = "supershingle"
    paper = "Fetterly, Manasse & Najork 2003"
    cost = "linear"
    Options = SupershingleOptions
    options: SupershingleOptions
    paper_preset = {"minimum_tokens": 5}

    def __init__(self, options: Any = None, view: View | None = None) -> None:
        super().__init__(options, view)
        if self.options.common > self.options.supershingles:
            raise UsageError(
                f"supershingle: {self.options.common} in common of {self.options.supershingles}"
            )

    candidate_source = SharedKeys(decisive=True)

    @property
    def sketch_schema(self) -> pa.Schema:
        count = self.options.supershingles
        return pa.schema([("supershingles", pa.list_(pa.uint64(), count))])

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        size = self.options.samples
        shingles = shingle_hashes(*tokens, self.options.shingle)
        samples = permutations(*shingles, self.options.supershingles * size)
        hashes = group_hashes(samples, size)
        return [pa.FixedSizeListArray.from_arrays(hashes.ravel(), self.options.supershingles)]

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        keys = megashingles(_supershingles(features)[rows], self.options.common)
        return key_batch(np.repeat(rows, keys.shape[1]), keys.ravel())

    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        equal = (_supershingles(left) == _supershingles(right)).sum(axis=1)
        total = self.options.supershingles
        return Comparison(
            equal / total,
            equal >= self.options.common,
            [f"{same} of {total} super shingles are equal" for same in equal.tolist()],
            {"common": equal.tolist(), "supershingles": [total] * equal.size},
        )


def megashingles(supershingles: Hashes, common: int) -> Hashes:
    """A hash of every choice of `common` super shingles of a row."""
    choices = list(combinations(range(supershingles.shape[1]), common))
    chosen = supershingles[:, choices].reshape(-1)
    offsets = np.arange(0, chosen.size + 1, common, dtype=np.int64)
    return document_hashes(chosen, offsets).reshape(len(supershingles), len(choices))


def _supershingles(features: pa.RecordBatch) -> Hashes:
    return fixed_lists(features["supershingles"])
