"""Folding: the kernel agrees with the reference, and the shipped table with its definition."""

from __future__ import annotations

import importlib.util
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import fold as reference
from neardup.kernels.characters import table
from neardup.kernels.fold import PIECE, fold
from unicode_text import buffers, documents, is_known, texts


def folded(texts: list[str]) -> list[str]:
    data, offsets = fold(*buffers(texts))
    content = data.tobytes()
    return [content[offsets[row] : offsets[row + 1]].decode() for row in range(len(texts))]


@given(documents)
@example(
    ["e\u0301\u0323", "\u1100\u1161", "\u11a8", "\u0301", "a \u0301", "\n\u0301", "ΐ", "ᾳ\u0301"]
)
def test_kernel_agrees_with_reference(texts: list[str]) -> None:
    assert folded(texts) == [reference.fold(text) for text in texts]


@given(st.lists(texts, max_size=30).map("".join), st.integers(1, 3 * PIECE))
def test_text_longer_than_a_piece(text: str, shift: int) -> None:
    long = "x" * shift + text
    assert folded([long]) == [reference.fold(long)]


@pytest.mark.parametrize(
    "character", ["\ufdfa", "\u0390", "ﬁ", "\U0001d160", "\u0301", "각", "é", " a"]
)
def test_runs_that_need_the_most_room(character: str) -> None:
    long = character * (5 * PIECE)
    assert folded([long, "x", long]) == [reference.fold(long), "x", reference.fold(long)]


def test_many_marks_are_put_in_order() -> None:
    long = "a" + "\u0301\u0323" * 3_000
    assert folded([long]) == [reference.fold(long)]


def test_every_character_by_itself() -> None:
    every = [chr(code) for code in range(0x110000)]
    assigned = [each for each in every if unicodedata.category(each) not in ("Cn", "Co", "Cs")]
    known = [each for each in assigned if is_known(each)]
    once = folded(known)
    assert once == [reference.fold(character) for character in known]
    assert folded(once) == once


def generator() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "make_folding_table.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    tuple(table("folding")["unicode"].tolist())
    != tuple(map(int, unicodedata.unidata_version.split("."))),
    reason="this Python has another Unicode version than the shipped tables",
)
def test_shipped_tables_are_what_the_tool_makes() -> None:
    tool = generator()
    for name, made in tool.folding_table().items():
        np.testing.assert_array_equal(table("folding")[name], made)
    index, pages = tool.in_pages(tool.character_classes())
    np.testing.assert_array_equal(table("characters")["index"], index)
    np.testing.assert_array_equal(table("characters")["pages"], pages)
