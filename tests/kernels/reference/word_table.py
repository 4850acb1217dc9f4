"""The plain truth for `kernels.word_table`: the formula as the paper prints it."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

Table = Mapping[int, tuple[int, int]]  # a word's frequency and position


def sums(one: Table, two: Table) -> tuple[float, float, float, int]:
    """`(S1, S2, S3, common words)`, equations 5, 9 and 12."""
    common = sorted(one.keys() & two.keys())
    s1 = sum(log(one[w][0] * two[w][0]) * abs(one[w][1] - two[w][1]) for w in common)
    s2 = sum(log(one[w][0]) * one[w][1] for w in sorted(one.keys() - two.keys()))
    s3 = sum(log(two[w][0]) * two[w][1] for w in sorted(two.keys() - one.keys()))
    return s1, s2, s3, len(common)


def measure(one: Table, two: Table) -> float:
    """SM, equation 3."""
    s1, s2, s3, _ = sums(one, two)
    return (s1 + (s2 + s3)) / ((len(one) + len(two)) / 2)
