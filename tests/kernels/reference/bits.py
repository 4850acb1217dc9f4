"""The plain truth for `kernels.bits`."""

from __future__ import annotations

from collections.abc import Sequence


def bits_of(flags: Sequence[bool]) -> int:
    """A number whose bit b is flag b."""
    return sum(1 << place for place, flag in enumerate(flags) if flag)


def next_set(flags: Sequence[bool], at: int, end: int) -> int:
    """The first place from `at` on that is flagged, or `end`."""
    return next((place for place in range(at, end) if flags[place]), end)
