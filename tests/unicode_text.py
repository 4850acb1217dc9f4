"""Hypothesis strategies for text in many scripts, and documents as kernels take them."""

from __future__ import annotations

import unicodedata

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.kernels.characters import character_classes

PIECES = (
    *(
        "Mr. ",
        "U.S. ",
        "e.g. ",
        "No. 5",
        "no. ",
        "3.14",
        "p.m. ",
        "J. R. ",
        "www.example.com",
        "1. ",
    ),
    *(
        "...",
        "……",
        "。",
        "！",
        "？",
        "?",
        "!",
        ".",
        "．",
        "；",
        "”",
        "」",
        '"',
        "'",
        ")",
        "“",
        "「",
    ),
    *(" ", "  ", "\n", "\t", "\u3000", "\u00a0", "\u200b", "\u00ad", "-", "\u2019"),
    *("Word", "word", "ÉTÉ", "straße", "2023", "中文", "網頁", "网页", "かな", "カナ", "한국어"),
    *("привет", "ελληνικά", "שלום", "سلام", "ไทยนี้", "ລາວ", "हिन्दी", "မြန်မာ", "ខ្មែរ", "〇", "々"),
    *(
        "ｶﾞ",
        "ＡＢＣ",
        "ﬁ",
        "½",
        "e\u0301",
        "\u0323",
        "\u0302",
        "\u1100\u1161\u11a8",
        "😀",
        "🇨🇳",
        "👩‍👩‍👧",
    ),
)


def is_known(character: str) -> bool:
    """Whether the shipped tables know the character: a newer Python may know more letters."""
    index, pages = character_classes()
    code = ord(character)
    is_nothing = pages[int(index[code >> 8]) * 256 + code % 256] == 15
    return not (is_nothing and unicodedata.category(character)[0] in "LMNZ")


characters = st.characters(exclude_categories=("Cs", "Cn", "Co")).filter(is_known)
marks = st.characters(categories=("Mn", "Mc", "Me")).filter(is_known)
jamo = st.characters(min_codepoint=0x1100, max_codepoint=0x11FF)
pieces = st.one_of(st.sampled_from(PIECES), st.sampled_from(PIECES), characters, marks, jamo)
texts = st.lists(pieces, max_size=25).map("".join)
documents = st.lists(texts, max_size=5)


def buffers(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as a UTF-8 buffer and its offsets."""
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def slices(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> list[str]:
    """The pieces of a UTF-8 buffer."""
    content = data.tobytes()
    return [content[start:end].decode() for start, end in zip(starts, ends, strict=True)]
