"""The plain truth for `kernels.memory`: batches as lists of their rows."""

from __future__ import annotations

from collections.abc import Sequence


def texts(
    batches: Sequence[Sequence[Sequence[str]]],
    batch: Sequence[int],
    row: Sequence[int],
    number: Sequence[int],
) -> list[str | None]:
    """Of the list of texts at such rows of such batches the one of that number, or none."""
    return [
        batches[b][r][n] if n >= 0 else None for b, r, n in zip(batch, row, number, strict=True)
    ]
