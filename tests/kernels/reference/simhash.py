"""The plain truth for `kernels.simhash`, one document at a time."""

from __future__ import annotations

from collections.abc import Sequence


def simhash(features: Sequence[int]) -> int:
    """Each bit by the majority of the features."""
    votes = [sum(1 if feature >> bit & 1 else -1 for feature in features) for bit in range(64)]
    return sum(1 << bit for bit, vote in enumerate(votes) if vote > 0)
