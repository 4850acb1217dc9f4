"""`minhash`: resemblance of shingle sets, estimated from min-wise samples, with banding.

Broder 1997, On the resemblance and containment of documents.

* Section 2, shingling: S(D, w), the set of runs of w tokens (`kernels.shingles`).
  `resemblance = |S(A) n S(B)| / |S(A) u S(B)|`.
* Section 3, the sketch: the probability that two pages have the same minimum under a random
  permutation is their resemblance (`kernels.minhash`). By default all samples come from the bins of
  one permutation; `sampling="permutations"` uses one permutation for each.
* Candidates: the samples are split into bands of rows, and pages that share a whole band are
  candidates. The probability of that is `1 - (1 - s^rows)^bands` for a share s of equal samples.
* The rule: near if the share of equal samples (or, with `verify="exact"`, the resemblance of the
  sets themselves) reaches the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import Ragged, fixed_lists, large_list_array
from neardup.config import option
from neardup.errors import UsageError
from neardup.kernels.minhash import HALF, agreements, group_hashes, one_permutation, permutations
from neardup.kernels.shingles import shingle_hashes, sort_distinct
from neardup.methods.base import key_batch
from neardup.methods.token_method import HASHES, Comparison, TokenMethod, compare_sets
from neardup.text.sites import Survey
from neardup.text.views import View

FOUND = 0.99  # probability that banding finds a pair exactly at the threshold


@dataclass(frozen=True, slots=True)
class MinhashOptions:
    threshold: float = option(0.8, "least resemblance of near pages", minimum=0.05, maximum=1)
    shingle: int = option(5, "tokens in a shingle (w)", minimum=1, maximum=50)
    permutations: int = option(128, "samples per page", minimum=1, maximum=1024)
    bands: int = option(0, "bands of samples; 0 derives them from the threshold", minimum=0)
    rows: int = option(0, "samples per band; 0 derives them from the threshold", minimum=0)
    sampling: Literal["one-permutation", "permutations"] = option(
        "one-permutation", "samples from the bins of one permutation, or from one permutation each"
    )
    verify: Literal["signatures", "exact"] = option(
        "signatures", "judge pairs by their samples, or by the shingle sets (more memory)"
    )
    minimum_tokens: int = option(20, "pages with fewer tokens are undecided", minimum=1)


class Minhash(TokenMethod):
    """Estimated resemblance of shingle sets."""

    name = "minhash"
    paper = "Broder 1997"
    cost = "linear, then the pairs that share a band"
    Options = MinhashOptions
    options: MinhashOptions
    paper_preset = {
        "shingle": 10,
        "threshold": 0.5,
        "sampling": "permutations",
        "minimum_tokens": 1,
    }

    def __init__(self, options: Any = None, view: View | None = None) -> None:
        super().__init__(options, view)
        bands, rows = self.bands_and_rows
        if bands * rows > self.options.permutations:
            raise UsageError(
                f"minhash: {bands} bands of {rows} rows need {bands * rows} samples; "
                f"permutations is {self.options.permutations}"
            )

    @cached_property
    def bands_and_rows(self) -> tuple[int, int]:
        """Bands and rows per band: from the options, or from `choose_rows`."""
        chosen = self.options
        rows = chosen.rows or (
            max(chosen.permutations // chosen.bands, 1)
            if chosen.bands
            else choose_rows(chosen.threshold, chosen.permutations)
        )
        return chosen.bands or max(chosen.permutations // rows, 1), rows

    @property
    def sketch_schema(self) -> pa.Schema:
        samples = pa.field("samples", pa.list_(pa.uint32(), self.options.permutations))
        shingles = [pa.field("shingles", HASHES)] if self.options.verify == "exact" else []
        return pa.schema([samples, *shingles])

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        shingles = shingle_hashes(*tokens, self.options.shingle)
        if self.options.sampling == "one-permutation":
            halves = (shingles[0] >> HALF).astype(np.uint32)
            samples = one_permutation(halves, shingles[1], self.options.permutations)
        else:
            samples = permutations(*shingles, self.options.permutations)
        columns = [pa.FixedSizeListArray.from_arrays(samples.ravel(), samples.shape[1])]
        if self.options.verify == "exact":
            columns.append(large_list_array(*sort_distinct(*shingles)))
        return columns

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        bands, size = self.bands_and_rows
        samples = _samples(features)[rows, : bands * size]
        hashes = group_hashes(np.ascontiguousarray(samples), size)
        return key_batch(np.repeat(rows, bands), hashes.ravel())

    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        if self.options.verify == "exact":
            sets = left["shingles"], right["shingles"]
            return compare_sets(*sets, self.options.threshold, "shingles", "shingles")
        equal = agreements(_samples(left), _samples(right))
        total = self.options.permutations
        return Comparison(
            equal / total,
            equal >= self.options.threshold * total,
            [f"{same} of {total} samples are equal" for same in equal.tolist()],
            {"equal_samples": equal.tolist(), "samples": [total] * equal.size},
        )


def choose_rows(threshold: float, samples: int) -> int:
    """The longest bands that still find a pair just at the threshold nearly always (`FOUND`)."""
    fitting = [
        rows
        for rows in range(1, samples + 1)
        if 1 - (1 - threshold**rows) ** (samples // rows) >= FOUND
    ]
    return max(fitting, default=1)


def _samples(features: pa.RecordBatch) -> NDArray[np.uint32]:
    return fixed_lists(features["samples"])
