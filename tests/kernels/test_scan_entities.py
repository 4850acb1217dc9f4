"""Character references against the standard library's reading of them."""

from __future__ import annotations

import html
from html.entities import html5

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.entities import decode_reference


def decoded(text: str) -> str:
    """`text` with its references decoded, one after the other."""
    data = np.frombuffer(text.encode(), np.uint8)
    result, at = bytearray(), 0
    while at < len(data):
        if data[at] == ord("&"):
            first, second, at = decode_reference(data, at, len(data))
            result += (chr(first) + (chr(second) if second else "")).encode()
        else:
            result.append(data[at])
            at += 1
    return result.decode()


def test_every_name_there_is() -> None:
    text = " ".join(f"&{name}" for name in html5)
    assert decoded(text) == " ".join(html5.values())


def test_no_name_stands_for_more_than_six_bytes_in_five() -> None:
    # The scanner's room for text rests on this.
    grown = {
        name
        for name, text in html5.items()
        if 5 * len(text.encode()) > 6 * len(f"&{name}")  # five bytes of source give six at most
    }
    assert grown == set()


def is_a_character(code: int) -> bool:
    # For others the standard library gives nothing; HTML keeps what is no surrogate.
    return not (code < 0xA0 or 0xD800 <= code < 0xE000 or 0xFDD0 <= code < 0xFDF0) and (
        code & 0xFFFE != 0xFFFE
    )


NAMES = st.sampled_from(sorted(html5)).map("&{}".format)
CODES = st.integers(0, 0x10FFFF).filter(is_a_character)
NUMBERS = st.builds("&#{}{}".format, CODES, st.sampled_from(["", ";"]))
HEXADECIMAL = st.builds("&#x{:x}{}".format, CODES, st.sampled_from(["", ";"]))
OTHER = st.sampled_from(["&", "&;", "&#", "&#x", "&#;", "a", "x", "=", ";", " ", "notit", "amp"])


@given(st.lists(st.one_of(NAMES, NUMBERS, HEXADECIMAL, OTHER), max_size=12))
def test_agrees_with_the_standard_library(pieces: list[str]) -> None:
    # A space ends each, so that digits of one do not run into the next.
    text = " ".join(pieces)
    assert decoded(text) == html.unescape(text)
