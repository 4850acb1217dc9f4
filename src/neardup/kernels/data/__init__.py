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

    Bits 0-3: the script of a letter (`kernels.scripts.SCRIPTS`), 15 for all else. Bits 4-6:
    0 nothing, 1 space, 2 of a word, 3 a token by itself, 4 a mark. Bit 7: a lower-case letter.
    """
    arrays = table("characters")
    return arrays["index"].astype(np.uint16), arrays["pages"].astype(np.uint8)
