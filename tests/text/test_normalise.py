"""Folding: variants of one text fold to the same, nothing else does."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.arrays import string_buffers
from neardup.text.tokens import fold_batch, fold_text
from unicode_text import texts


@pytest.mark.parametrize(
    ("variants", "folded"),
    [
        (("網頁設計與臺灣體育", "网页设计与台湾体育"), "网页设计与台湾体育"),
        (("ＡＢＣ　１２３！", "abc 123!", "Abc\u00a0123!"), "abc 123!"),
        (("ｶﾞｷﾞﾊﾟ", "ガギパ", "カ\u3099キ\u3099ハ\u309a"), "ガギパ"),
        (("CAFÉ", "cafe\u0301", "Cafe\u0301"), "café"),
        (("Straße", "STRASSE", "strasse"), "strasse"),
        (("ΌΣΟΣ", "όσος", "όσοσ"), "όσοσ"),
        (("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"), "한국"),
        (("ﬁne ½ ①", "fine 1⁄2 1"), "fine 1⁄2 1"),
        (("to\u00adday", "to\u200bday", "to\ufeffday", "to\u2060day"), "today"),
        (("\u202eabc\u202c", "a\u200db\u200ec", "a\ufe0fbc"), "abc"),
        (("a \t b", "a\u3000\u2009b", "  a b  "), "a b"),
        (("e\u0323\u0302", "ê\u0323", "ẹ\u0302", "Ệ"), "ệ"),
        (("a \n b", "a\nb", "a\t\n\u3000b\r"), "a\nb"),
        (("\n\n", " \n \n "), "\n\n"),
        (("nul\x00byte\x1b", "nulbyte"), "nulbyte"),
    ],
)
def test_variants_fold_to_one_form(variants: tuple[str, ...], folded: str) -> None:
    assert {fold_text(variant) for variant in variants} == {folded}


def test_what_differs_stays_different() -> None:
    assert fold_text("résumé") != fold_text("resume")
    assert fold_text("a\nb") != fold_text("a b")
    assert fold_text("か") != fold_text("が")


def test_a_lone_surrogate_is_no_error() -> None:
    assert fold_text("A\ud800B") == "a?b"


@given(texts)
def test_folding_twice_changes_nothing(text: str) -> None:
    once = fold_text(text)
    assert fold_text(once) == once


@given(texts)
def test_lines_are_kept_and_white_space_is_single(text: str) -> None:
    folded = fold_text(text)
    assert folded.count("\n") == text.count("\n")
    assert all(line == " ".join(line.split()) for line in folded.split("\n"))


@given(texts)
def test_result_is_in_normal_form(text: str) -> None:
    folded = fold_text(text)
    assert unicodedata.is_normalized("NFKC", folded)


@given(texts)
def test_composed_and_decomposed_text_fold_alike(text: str) -> None:
    # But for the iota below, which becomes a letter: after another mark its place matters.
    plain = text.replace("\u0345", "")
    decomposed = unicodedata.normalize("NFD", plain)
    if "\u0345" not in decomposed:
        assert fold_text(decomposed) == fold_text(unicodedata.normalize("NFC", plain))


@given(st.lists(st.one_of(st.none(), texts), max_size=8), st.integers(0, 3), st.booleans())
def test_a_column_folds_as_its_texts(rows: list[str | None], skip: int, large: bool) -> None:
    column = pa.array(rows, pa.large_string() if large else pa.string())[skip:]
    folded = fold_batch(column)
    folded.validate(full=True)
    assert folded.type == column.type
    expected = [None if row is None else fold_text(row) for row in rows[skip:]]
    assert folded.to_pylist() == expected


def test_buffers_of_a_column_are_not_copied() -> None:
    column = pa.array(["ab", "中", ""])
    data, offsets = string_buffers(column[1:])
    assert data.ctypes.data == column.buffers()[2].address
    assert offsets.tolist() == [2, 5, 5]
