"""Compiled kernels that are called without numba."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import neardup
from neardup.kernels import jit
from neardup.kernels.compiler import _writable
from neardup.kernels.jit import kernel, type_names
from neardup.kernels.shingles import mix_all

BYTES = np.zeros(3, np.uint8)
TABLE = np.zeros((2, 4), np.float32)


class Two(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


@pytest.mark.parametrize(
    "value",
    [
        *(0, -5, True, 2.5, None, np.uint64(3), np.int32(3), np.float32(3), np.bool_(True)),
        *(BYTES, BYTES[::2], np.frombuffer(b"abc", np.uint8), np.zeros(2, bool)),
        *(TABLE, TABLE.T, TABLE[:, ::2]),
        *((1, 2), (1, 2.5), (BYTES, BYTES), ((1, 2), (BYTES,))),
        *(Two(BYTES, BYTES), Two(BYTES, 1), Two((1, 2), 3.0)),
    ],
    ids=repr,
)
def test_types_have_the_names_that_numba_gives_them(value: object) -> None:
    assert type_names([value]) == str(_writable(numba.typeof(value)))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("value", ["text", 1 << 63, (), (1, "text"), np.zeros(2, ">i4"), [1]])
def test_what_is_not_known_has_no_name(value: object) -> None:
    assert type_names([1, value]) == ""


def second(function: Callable[..., Any]) -> Any:
    """The same kernel as another process has it, which finds compiled code."""
    return kernel(getattr(function, "py_func"))  # noqa: B009 - mypy sees a function


@kernel
def divided(numbers: Any, by: Any) -> Any:
    """Numbers divided by another, and how many there are."""
    if by == 0:
        raise ValueError("by nothing")
    return numbers / by, len(numbers)


def test_compiled_code_does_what_numba_does(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(4)
    expected = divided(numbers, 2)
    monkeypatch.setattr("neardup.kernels.compiler.entry_point", None)  # nothing is compiled
    again = second(divided)
    shares, count = again(numbers, 2)
    assert shares.tolist() == expected[0].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert count == 4
    numbers.flags.writeable = False
    assert again(numbers, 2)[1] == 4
    with pytest.raises(ValueError, match="by nothing"):
        again(numbers, 0)
    assert len(again._by_types) == 1  # one code, whoever may write to the array


def test_each_type_has_code_of_its_own() -> None:
    again = second(divided)
    assert again(np.arange(4, dtype=np.float32), 2)[0].dtype == np.float32
    assert again(np.arange(4)[::2], 2)[0].tolist() == [0.0, 1.0]
    assert again(np.arange(4), np.uint8(2))[1] == 4
    assert again(np.arange(4), 1 << 63)[1] == 4  # not known here: numba says what it is
    assert len(again._by_types) == 3
    with pytest.raises(numba.TypingError):
        again("text", 2)


def test_code_that_needs_what_is_not_there_is_left_to_numba() -> None:
    divided(np.arange(4), 2)
    engine = jit._engine()
    assert engine is not None
    code = jit.Code("", "", "", "", [], ["memcpy", "numba_unpickle", "Py_IncRef"], b"")
    assert engine.fits(code)
    assert not engine.fits(code._replace(needs=["numba_of_tomorrow"]))


def test_without_the_parts_of_numba_kernels_are_called_through_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jit, "_engine", lambda: None)
    assert second(divided)(np.arange(4), 2)[1] == 4


# Numba is imported after kernels were called, and both go on.
BOTH = """
import sys
import numpy as np
from neardup.kernels.shingles import mix_all
numbers = np.array([5], np.uint64)
before = mix_all(numbers)[0]
assert not [name for name in sys.modules if name.startswith("numba")]
import numba
@numba.njit
def twice(numbers):
    return mix_all(numbers), 2 * len(numbers)
assert twice(numbers)[0][0] == before == mix_all(numbers)[0]
"""


def test_numba_can_be_imported_later() -> None:
    from neardup.kernels.shingles import mix_all

    mix_all(np.array([5], np.uint64))
    environment = {**os.environ, "PYTHONPATH": str(Path(neardup.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", BOTH], env=environment, check=True)


def test_a_kernel_is_pickled_by_its_name() -> None:
    assert int(mix_all(np.array([5], np.uint64))[0])  # with code, which cannot be pickled
    assert pickle.loads(pickle.dumps(mix_all)) is mix_all
    assert copy.deepcopy(mix_all) is mix_all
