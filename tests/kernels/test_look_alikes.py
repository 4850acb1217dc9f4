"""Words that mix Latin with look-alikes, against the plain reference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.reference import look_alikes as reference
from neardup.kernels.characters import unmix


def unmixed(*texts: str) -> list[str]:
    data = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int64)
    content, ends = unmix(np.frombuffer(b"".join(data), np.uint8), offsets)
    raw = content.tobytes()
    return [raw[start:end].decode() for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Тhe сору оf а раgе", "The сору of а page"),  # words of look-alikes alone are no mixture
        ("Рагagraph", "Рагagraph"),  # г looks like nothing
        ("раragraph Ελληνικά ехаmple νery", "paragraph Ελληνικά example very"),
        ("coсна Mосква", "сосна Москва"),
        ("Москва и Ростов, Αθήνα, naïve", "Москва и Ростов, Αθήνα, naïve"),
        ("Windowsом iPhoneы PDFфайл", "Windowsом iPhoneы PDFфайл"),
        ("5μm Δt 10kΩ", "5μm Δt 10kΩ"),
        ("é" * 5 + "а", "é" * 5 + "a"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert unmixed(text) == [expected] == [reference.unmix(text)]


def test_documents_stay_apart() -> None:
    assert unmixed("x", "а", "", "xа", "coсна") == ["x", "а", "", "xa", "сосна"]


LETTERS = "aceopxykmhTBHABCz" + "асеорхукмнТВНжщЖ" + "οναικρΑΒΕωΩσ" + " .-1é中\u0301\n"


@settings(max_examples=500, deadline=None)
@given(st.lists(st.text(LETTERS, max_size=30), min_size=1, max_size=4))
def test_agrees_with_the_reference(texts: list[str]) -> None:
    assert unmixed(*texts) == [reference.unmix(text) for text in texts]
