"""Letters per script: the kernel agrees with the names of the characters."""

from __future__ import annotations

from hypothesis import given

from kernels.reference import scripts as reference
from neardup.kernels.characters import SCRIPTS, count_scripts
from unicode_text import buffers, documents


@given(documents)
def test_kernel_agrees_with_reference(texts: list[str]) -> None:
    counts = count_scripts(*buffers(texts))
    assert counts.shape == (len(texts), len(SCRIPTS))
    assert counts.tolist() == reference.count_scripts(texts)


def test_one_letter_of_each() -> None:
    [row] = count_scripts(*buffers(["a中か한жαشאกमԱ 1!"]))
    assert row.tolist() == [1] * len(SCRIPTS)
