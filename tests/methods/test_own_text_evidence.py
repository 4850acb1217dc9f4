"""The evidence of own-text, built by columns, is what `json` makes of each pair by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from neardup.arrays import FeatureRows, Places
from neardup.methods.base import evidence_json
from neardup.methods.own_text.verdict import (
    RELATIONS,
    Measured,
    evidence_by_columns,
    evidence_of,
)
from neardup.model import Relation

# Many shares are half-way between two numbers of four places, or of two, or a hair beside it.
halves = st.integers(0, 20_000).map(lambda number: number / 20_000)
hairs = halves.map(lambda share: float(np.nextafter(share, 0.5)))
shares = st.floats(0, 1) | halves | hairs
lines = st.lists(st.text(min_size=1), max_size=3)


@dataclass(frozen=True)
class Pair:
    """What is known of two pages, one pair at a time."""

    said: Relation
    amount: float
    similarity: float
    required: float
    left_share: float
    right_share: float
    same_host: bool
    same_title: bool | None  # where the host is the same and titles tell
    example: tuple[int, int]
    difference: tuple[int, int]
    left: list[str]
    right: list[str]
    same_text: bool = False

    @property
    def one_title(self) -> bool:
        return self.same_title is True

    @property
    def two_titles(self) -> bool:
        return self.same_title is False


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    left, right = draw(lines), draw(lines)
    same_host = draw(st.booleans())
    chosen = st.tuples(*(st.integers(-1, len(each) - 1) for each in (left, right)))
    return Pair(
        draw(st.sampled_from(RELATIONS)),
        draw(st.floats(0, 1e6) | st.integers(0, 99).map(lambda number: number + 0.5)),
        draw(shares),
        draw(shares),
        draw(shares),
        draw(shares),
        same_host=same_host,
        same_title=draw(st.sampled_from([None, True, False])) if same_host else None,
        example=draw(chosen),
        difference=draw(chosen),
        left=left,
        right=right,
    )


@given(st.lists(pairs(), min_size=1, max_size=5))
def test_evidence(given_pairs: list[Pair]) -> None:
    columns = {
        field.name: np.array([getattr(pair, field.name) for pair in given_pairs])
        for field in fields(Measured)
    }
    said = np.array([RELATIONS.index(pair.said) for pair in given_pairs], np.int8)
    batches = [sample_texts([pair.left for pair in given_pairs])]
    batches.append(sample_texts([pair.right for pair in given_pairs]))
    rows = np.arange(said.size, dtype=np.int32)
    places = Places(0 * rows, rows), Places(0 * rows + 1, rows)
    measured, features = Measured(**columns), FeatureRows.of(*batches)
    plain = [evidence_json(plain_evidence(pair)) for pair in given_pairs]
    assert evidence_by_columns(said, measured, features, *places).to_pylist() == plain
    assert evidence_of(said, measured, features, *places).to_pylist() == plain  # one by one


def sample_texts(texts: list[list[str]]) -> pa.RecordBatch:
    """A batch that is a slice of another."""
    column = pa.array([["before"], *texts], pa.list_(pa.string()))
    return pa.record_batch({"sample_texts": column}).slice(1)


def plain_evidence(pair: Pair) -> dict[str, object]:
    def sample(side: int, numbers: tuple[int, int]) -> str:
        texts = (pair.left, pair.right)[side]
        return texts[numbers[side]] if numbers[side] >= 0 else ""

    examples = {
        "shared": sample(0, pair.example) or sample(1, pair.example),
        "only_left": sample(0, pair.difference),
        "only_right": sample(1, pair.difference),
    }
    return {
        "why": plain_why(pair),
        "left_share": round(pair.left_share, 4),
        "right_share": round(pair.right_share, 4),
        "required_similarity": round(pair.required, 4),
        "same_host": pair.same_host,
        **({} if pair.same_title is None else {"same_title": pair.same_title}),
        **{name: text for name, text in examples.items() if text},
    }


def plain_why(pair: Pair) -> str:
    if pair.said is Relation.UNDECIDED:
        return f"too little own text to tell: {pair.amount:.0f} units"
    if pair.said is Relation.SAME:
        return "the own text is the same, token for token"
    shared = f"{pair.left_share:.0%} of A's own text and {pair.right_share:.0%} of B's is shared"
    kind = "short pages" if pair.amount < 200 else "pages"
    of_whom = {
        None: f" of {kind} on one host" if pair.same_host else "",
        True: f" of {kind} with the same title on one host",
        False: f" of {kind} with different titles on one host",
    }[pair.same_title]
    if not of_whom and kind == "short pages":
        of_whom = " of short pages"
    if pair.said is Relation.NEAR:
        both = f"{pair.similarity:.0%} together; {pair.required:.0%} is required"
    else:
        similarity = math.floor(pair.similarity * 100)
        both = f"{similarity}% together: less than the {math.ceil(pair.required * 100)}% required"
    return f"{shared}, {both}{of_whom}"
