"""From what two pages share to a verdict, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.kernels.shared_text import NONE, shared_weights
from neardup.methods.own_text.options import OwnTextOptions
from neardup.methods.own_text.ragged import ragged
from neardup.model import Relation


@dataclass(frozen=True)
class Shared:
    """What each first page of some pairs shares with the second."""

    weight: NDArray[np.float64]
    example: NDArray[np.int64]  # its first sample line that is mostly shared, or NONE
    difference: NDArray[np.int64]  # its first sample line that hardly is, or NONE

    def share(self, mass: NDArray[np.float64]) -> NDArray[np.float64]:
        """The share of the first page's own text, which weighs `mass`."""
        return divided(self.weight, mass)

    def examples(self, pages: pa.RecordBatch) -> list[tuple[str, str]]:
        """The text of both sample lines of each page, empty where there is none."""
        return [
            (texts[one] if one != NONE else "", texts[other] if other != NONE else "")
            for texts, one, other in zip(
                pages["sample_texts"].to_pylist(),
                self.example.tolist(),
                self.difference.tolist(),
                strict=True,
            )
        ]


def shared_text(page: pa.RecordBatch, other: pa.RecordBatch, size: int) -> Shared:
    """What each page shares with the other of its row, by shingles of `size` units."""
    shingles, places = ragged(page["shingles"])
    other_shingles, other_places = ragged(other["shingles"])
    run_tokens, run_places = ragged(page["run_tokens"])
    samples, sample_places = ragged(page["samples"])
    return Shared(
        *shared_weights(
            shingles,
            places,
            other_shingles,
            other_places,
            run_tokens,
            ragged(page["run_units"])[0],
            ragged(page["run_weights"])[0],
            run_places,
            samples,
            sample_places,
            size,
        )
    )


def divided(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares from 0 to 1; 0 of nothing."""
    shares = np.divide(parts, wholes, out=np.zeros_like(wholes), where=wholes > 0)
    return np.clip(shares, 0.0, 1.0)


def demand(
    amount: NDArray[np.float64], same_host: NDArray[np.bool_], options: OwnTextOptions
) -> NDArray[np.float64]:
    """The share that two pages must have in common: more where there is little text, and more on
    one host, where sister pages are made from one form (An & Cheng, definition 4)."""
    little = options.few / (options.few + amount) if options.few else np.zeros_like(amount)
    asked = options.near + (1.0 - options.near) * little
    return np.where(same_host, asked + (1.0 - asked) * options.same_host, asked)


class Measured(NamedTuple):
    """What a verdict on a pair goes by."""

    amount: float  # units of own text of the shorter page
    same_text: bool
    similarity: float  # shared weight of both, of the weight of both
    demand: float
    left_share: float
    right_share: float
    same_host: bool


def relation(pair: Measured, options: OwnTextOptions) -> Relation:
    """The verdict. Of two pages that have most of each other, neither is an excerpt."""
    if pair.amount < options.enough:
        return Relation.UNDECIDED
    if pair.same_text:
        return Relation.SAME
    if pair.similarity >= pair.demand:
        return Relation.NEAR
    if pair.left_share >= options.contained > pair.right_share:
        return Relation.CONTAINED
    if pair.right_share >= options.contained > pair.left_share:
        return Relation.CONTAINS
    if max(pair.left_share, pair.right_share) > 1.0 - options.near:
        return Relation.OVERLAP
    return Relation.DIFFERENT


def evidence(
    said: Relation, pair: Measured, left: tuple[str, str], right: tuple[str, str]
) -> dict[str, object]:
    """The reasons in words, the numbers, and lines that show what is shared and what is not."""
    examples = {"shared": left[0] or right[0], "only_left": left[1], "only_right": right[1]}
    return {
        "why": _why(said, pair),
        "left_share": round(pair.left_share, 4),
        "right_share": round(pair.right_share, 4),
        "demand": round(pair.demand, 4),
        "same_host": pair.same_host,
        **{name: text for name, text in examples.items() if text},
    }


def _why(said: Relation, pair: Measured) -> str:
    if said is Relation.UNDECIDED:
        return f"too little own text to tell: {pair.amount:.0f} units"
    if said is Relation.SAME:
        return "the own text is the same, token for token"
    shared = f"{pair.left_share:.0%} and {pair.right_share:.0%} of the own text is shared"
    asked = f"{pair.demand:.0%} asked{' of two pages on one host' if pair.same_host else ''}"
    if said is Relation.NEAR:
        return f"{shared}, {pair.similarity:.0%} together; {asked}"
    return f"{shared}, {pair.similarity:.0%} together: less than the {asked}"
