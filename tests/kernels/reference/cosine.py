"""The cosine of two count vectors, plainly."""

from __future__ import annotations

import math
from collections.abc import Mapping


def cosine(left: Mapping[int, int], right: Mapping[int, int]) -> float:
    """From counts by word; 0 where one side has none."""
    product = sum(count * right.get(word, 0) for word, count in left.items())
    squares = sum(count**2 for count in left.values()) * sum(c**2 for c in right.values())
    return min(product / math.sqrt(squares), 1.0) if squares else 0.0
