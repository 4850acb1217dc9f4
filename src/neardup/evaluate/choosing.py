"""Choosing among settings by their counts: cross-validated, with a word on how sure it is.

Each setting has its counts by unit (see `counts.py`). A choice made on some units is measured on
units it has not seen; drawn again and again, it shows how much it hangs on the labels at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neardup.evaluate.counts import Counts
from neardup.evaluate.metrics import intervals, pairwise, rates, redraw

FOLDS = 5
HANDFUL = 50  # labelled pairs of a sort, below which a choice is a guess

Table = NDArray[np.float64]  # settings x units x (found, said, true)


@dataclass(frozen=True)
class Choice:
    """A setting, and how far it can be trusted."""

    setting: int
    scores: dict[str, object]  # on all labels
    held_out: dict[str, object]  # chosen on four fifths, measured on the rest
    held_out_intervals: dict[str, list[float]]
    chosen_again: NDArray[np.int64]  # the settings chosen on labels drawn again
    true_pairs: int
    meets_precision: bool

    @property
    def agreement(self) -> float:
        """Share of redraws that choose the same."""
        return float(np.mean(self.chosen_again == self.setting))


def choose(tried: Sequence[Counts], precision: float | None, seed: int = 0) -> Choice:
    """The setting with the best F1; or, with `precision`, the best recall that keeps to it.

    Of equals the first: put those you would rather have in front.
    """
    table = np.stack([np.stack([c.found, c.said, c.true], axis=1) for c in tried])
    units = table.shape[1]
    best = int(_best(table.sum(axis=1)[None], precision)[0])
    held_out = _held_out(table, precision, seed)
    drawn = redraw(table.transpose(1, 0, 2).reshape(units, -1), seed)
    again = _best(drawn.reshape(-1, len(tried), 3), precision)
    total = table[best].sum(axis=0)
    reached = precision is None or bool(rates(*total)[0] >= precision)
    return Choice(
        best,
        pairwise(tried[best]),
        pairwise(held_out),
        intervals(held_out, seed),
        again,
        round(float(total[2])),
        reached,
    )


def _best(sums: Table, precision: float | None) -> NDArray[np.int64]:
    """For each row of sums (settings x counts) the best setting; of equals the first.

    When no setting reaches the precision, the most precise one that finds anything.
    """
    got, recall, f1 = rates(sums[..., 0], sums[..., 1], sums[..., 2])
    if precision is None:
        value = f1
    else:
        enough = got >= precision
        finds = sums[..., 0] > 0
        value = np.where(enough, 1 + recall, np.where(finds, got, 0))
    tie = got * 1e-9  # of equals the more precise, then the first
    best: NDArray[np.int64] = np.argmax(value + tie, axis=-1)
    return best


def _held_out(table: Table, precision: float | None, seed: int) -> Counts:
    """The counts of each unit under the setting chosen without its fold."""
    units = table.shape[1]
    fold = np.random.default_rng(seed).permutation(units) % min(FOLDS, units)
    kept = np.empty((units, 3))
    for number in range(int(fold.max(initial=0)) + 1):
        out = fold == number
        chosen = int(_best(table[:, ~out].sum(axis=1)[None], precision)[0])
        kept[out] = table[chosen, out]
    return Counts(kept[:, 0], kept[:, 1], kept[:, 2])
