"""`kernels.spots` against its plain truth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference import spots as plain
from neardup.kernels.shingles import spot_signatures

tokens = st.tuples(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2]))
documents = st.lists(st.tuples(st.lists(tokens, max_size=15), st.integers(1, 4)), max_size=5)


@given(documents, st.integers(1, 3))
def test_spot_signatures(rows: list[tuple[list[tuple[int, int]], int]], distance: int) -> None:
    flat = [token for row, _ in rows for token in row]
    found, places = spot_signatures(
        np.array([value for value, _ in flat], np.uint64),
        np.cumsum([0, *(len(row) for row, _ in rows)], dtype=np.int64),
        np.array([role for _, role in flat], np.uint8),
        np.array([chain for _, chain in rows], np.int64),
        distance,
    )
    assert [found[a:b].tolist() for a, b in pairwise(places.tolist())] == [
        plain.spot_signatures([v for v, _ in row], [r for _, r in row], chain, distance)
        for row, chain in rows
    ]
