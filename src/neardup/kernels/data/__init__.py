"""Character tables, made by tools/make_folding_table.py and read when first needed."""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray


@cache
def table(name: str) -> dict[str, NDArray[np.generic]]:
    """The arrays of one table file."""
    with (
        resources.files(__name__).joinpath(f"{name}.npz").open("rb") as file,
        np.load(file) as arrays,
    ):
        return {each: arrays[each] for each in arrays.files}


@cache
def character_classes() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """`(index, pages)`: the byte of code point c is `pages[index[c >> 8] * 256 + c % 256]`.

    `kernels.characters` says what its bits mean.
    """
    arrays = table("characters")
    return arrays["index"].astype(np.uint16), arrays["pages"].astype(np.uint8)
