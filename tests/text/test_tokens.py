"""Tokens by script."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.reference.tokens import token_hash
from neardup.text.tokens import fold_batch, tokens, tokens_batch
from unicode_text import texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("don't l’été well-known", ["don", "t", "l", "été", "well", "known"]),
        ("中文ABC網頁2023年", ["中", "文", "abc", "网", "页", "2023", "年"]),
        ("日本のページ", ["日", "本", "の", "ペ", "ー", "ジ"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("Привет, мир", ["привет", "мир"]),
        ("3.14 1,000 x²", ["3", "14", "1", "000", "x2"]),
        ("\u0301a", ["a"]),
        ("", []),
        ("!?…", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.lists(texts, max_size=5))
def test_a_column_has_the_hashes_of_its_tokens(rows: list[str]) -> None:
    found = tokens_batch(fold_batch(pa.array(rows, pa.string()))).to_pylist()
    assert found == [[token_hash(token) for token in tokens(row)] for row in rows]
