"""`exact`: pages whose normalised text is the same, letter for letter.

The text of all blocks is folded (Unicode form, width, case, traditional and simplified
characters) and its white space removed, so that a reflowed or re-encoded copy is still the same.
The rest is hashed to 128 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, offsets_of, string_buffers
from neardup.config import option
from neardup.kernels.fold import fold
from neardup.methods.base import (
    Method,
    Numbers,
    PairVerdict,
    SharedKeys,
    SurveyResults,
    key_batch,
    verdict_batch,
)
from neardup.model import Relation


@dataclass(frozen=True, slots=True)
class ExactOptions:
    minimum_text: int = option(
        50, "pages with fewer characters, without white space, are undecided", minimum=1
    )


class Exact(Method):
    """The same normalised text."""

    name = "exact"
    paper = "content hash, the classic baseline"
    languages = "all"
    cost = "linear"
    Options = ExactOptions
    options: ExactOptions
    candidate_source = SharedKeys(decisive=True)
    feature_schema = pa.schema([("hash", pa.binary(16)), ("length", pa.int64())])

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        data, offsets = _without_space(*fold(*string_buffers(pages.column("text"))))
        content = memoryview(data)  # type: ignore[arg-type]
        spans = list(pairwise(offsets.tolist()))
        hashes = [xxhash.xxh3_128_digest(content[start:end]) for start, end in spans]
        characters = offsets_of((data & 0xC0) != 0x80)  # before each byte
        lengths = np.diff(characters[offsets])
        return pa.record_batch(
            [pa.array(hashes, pa.binary(16)), lengths], schema=self.feature_schema
        )

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(features.column("length"), self.options.minimum_text)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        halves = np.frombuffer(b"".join(features["hash"].to_pylist()), "<u8").reshape(-1, 2)
        return key_batch(rows, halves[rows, 0])

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        enough = pc.and_(self.decidable(ours), self.decidable(theirs))
        equal = pc.and_(
            pc.equal(ours.column("hash"), theirs.column("hash")),
            pc.equal(ours.column("length"), theirs.column("length")),
        )
        columns = (each.to_pylist() for each in (enough, equal, ours["length"], theirs["length"]))
        return verdict_batch(_verdict(*row) for row in zip(*columns, strict=True))


def _without_space(data: NDArray[np.uint8], offsets: Numbers) -> tuple[NDArray[np.uint8], Numbers]:
    """Folded text without white space; after folding there are only spaces and newlines."""
    solid = (data != ord(" ")) & (data != ord("\n"))
    return data[solid], offsets_of(solid)[offsets]


def _verdict(enough: bool, equal: bool, left: int, right: int) -> PairVerdict:
    characters = [left, right]
    if not enough:
        why = f"too little text to tell: {min(left, right)} characters"
        return Relation.UNDECIDED, None, {"why": why, "characters": characters}
    if equal:
        why = f"all {left} characters are the same"
        return Relation.SAME, 1.0, {"why": why, "characters": characters}
    why = f"the texts differ ({left} and {right} characters)"
    return Relation.DIFFERENT, 0.0, {"why": why, "characters": characters}
