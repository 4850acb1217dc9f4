"""New pages among clusters that stand already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.clusters.splitting import Closeness

Rows = NDArray[np.int64]

NEW = -1  # in place of the label or the kept page of a page that no earlier run has seen


def join_earlier(
    labels: Rows,
    kept: Rows,
    left: Rows,
    right: Rows,
    similarity: NDArray[np.float64],
    closeness: Closeness,
) -> Rows:
    """The labels with each new page added that belongs to an earlier cluster.

    Of the earlier pages that a new page is verified to duplicate, the most similar one names the
    cluster, and the page must be close to what that cluster keeps. Earlier clusters are neither
    renamed nor merged, whatever new page lies between them.
    """
    new_left, new_right = labels[left] == NEW, labels[right] == NEW
    mixed = new_left != new_right
    page = np.where(new_left, left, right)[mixed]
    earlier = np.where(new_left, right, left)[mixed]
    best_first = np.lexsort((earlier, -similarity[mixed], page))
    page, earlier = page[best_first], earlier[best_first]
    best = np.diff(page, prepend=-1) != 0
    page, earlier = page[best], earlier[best]
    fits = closeness(page, kept[earlier]) >= 0 if page.size else np.empty(0, bool)
    joined = labels.copy()
    joined[page[fits]] = labels[earlier[fits]]
    return joined
