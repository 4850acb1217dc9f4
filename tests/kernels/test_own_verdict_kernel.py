"""Kernel == reference for the verdicts of own-text, given what two pages share."""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import own_verdict as plain
from neardup.arrays import FeatureRows
from neardup.kernels import own_verdict
from neardup.kernels.shared_text import shared_weights
from neardup.methods.own_text.method import OwnText
from neardup.methods.own_text.verdict import list_addresses, number_addresses

few = st.integers(0, 2)
weights = st.sampled_from([0.0, 1.0, 20.0, 33.3, 100.0])
pages = st.builds(plain.Page, few, few, few, few, weights, weights, weights | st.just(-1.0))
shares = st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])
shingles = st.lists(st.integers(1, 4), max_size=6)


def batch(page: plain.Page, tokens: list[int]) -> pa.RecordBatch:
    """A page of one line, of a token per shingle."""
    lists = {
        "shingles": tokens,
        "run_lines": [0],
        "run_tokens": [len(tokens)],
        "run_units": [2],
        "run_weights": [1.5],
        "sister_weights": [0.5],
    }
    names = own_verdict.COLUMNS
    columns = {name: [value] for name, value in zip(names, astuple(page), strict=True)}
    columns |= {name: [values] for name, values in lists.items()}
    columns |= {name: [[]] for name in ("sentences", "samples", "sample_texts")}
    schema = OwnText().feature_schema
    return pa.record_batch([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


@given(
    st.lists(st.tuples(pages, shingles, pages, shingles), max_size=4),
    shares,
    st.sampled_from([0.0, 30.0]),
    shares,
)
def test_pairs_compared(
    pairs: list[tuple[plain.Page, list[int], plain.Page, list[int]]],
    threshold: float,
    units: float,
    more: float,
) -> None:
    sides = [[batch(*pair[:2]) for pair in pairs], [batch(*pair[2:]) for pair in pairs]]
    rows = FeatureRows.of(batch(plain.Page(0, 0, 0, 0, 0, 0, 0), []), *sides[0], *sides[1])
    left, right = (rows.places(1 + side * len(pairs) + np.arange(len(pairs))) for side in (0, 1))
    lists = rows.known(list_addresses)
    found = own_verdict.compared(
        lists, rows.known(number_addresses), *left, *right, 2, threshold, units, more
    )
    same_host = np.array([p.host == o.host != 0 for p, _, o, _ in pairs], bool)
    shared, example, difference = shared_weights(lists, *left, *right, same_host, 2)
    wanted = [
        plain.compared(page, other, shared[number], threshold, units, more)
        for number, (page, _, other, _) in enumerate(pairs)
    ]
    for field, column in zip(fields(plain.Pair), found[:-2], strict=True):
        assert column.tolist() == [getattr(pair, field.name) for pair in wanted]
    assert found[-2].tolist() == example.tolist()
    assert found[-1].tolist() == difference.tolist()


verdicts = st.builds(
    plain.Pair, weights, st.booleans(), shares, shares, shares, shares, *[st.booleans()] * 3
)


@given(st.lists(verdicts), weights, shares, shares)
def test_relations(
    pairs: list[plain.Pair], enough: float, contained: float, overlapping: float
) -> None:
    columns = [
        np.array([astuple(pair)[place] for pair in pairs], bool if place == 1 else float)
        for place in range(6)
    ]
    a, b, c, d, e, f = columns
    found = own_verdict.relations(a, b, c, d, e, f, enough, contained, overlapping)
    assert [own_verdict.RELATIONS[number] for number in found.tolist()] == [
        plain.relation(pair, enough, contained, overlapping) for pair in pairs
    ]
