"""The UTF-8 kernels say what Python's decoder says."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import utf8 as reference
from neardup.kernels import utf8
from unicode_text import texts

high_bytes = st.binary(max_size=8).map(lambda data: bytes(byte | 0x80 for byte in data))
mixed = st.lists(
    st.one_of(st.binary(max_size=6), high_bytes, texts.map(str.encode), st.just(b"x" * 40)),
    max_size=16,
).map(b"".join)
BOUNDARIES = (
    *(b"\xc0\x80", b"\xc1\xbf", b"\xc2\x80", b"\xdf\xbf", b"\xe0\x9f\xbf", b"\xe0\xa0\x80"),
    *(b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf0\x90\x80\x80"),
    *(b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\x80", b"\xff"),
)


def array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


@given(mixed)
@example(b"a" * 33 + "é".encode())
def test_validity_is_that_of_the_decoder(data: bytes) -> None:
    assert utf8.is_utf8(array(data)) == reference.is_utf8(data)


def test_validity_at_the_boundaries_of_the_encoding() -> None:
    wide = "中".encode() * 22  # more than a block of 64 bytes
    for sequence in (*BOUNDARIES, *(sequence[:-1] for sequence in BOUNDARIES)):
        for before in range(58, 67):
            for after in (b"", b"y", b"y" * 80, wide):
                for start in (b"x" * before, wide + b"x" * (before - 58)):
                    data = start + sequence + after
                    assert utf8.is_utf8(array(data)) == reference.is_utf8(data), data


@given(st.lists(texts | st.just("x" * 70) | st.just("中" * 30), max_size=6))
def test_characters_are_counted(rows: list[str]) -> None:
    encoded = [row.encode() for row in rows]
    ends = np.cumsum([0, *map(len, encoded)])
    assert utf8.character_counts(array(b"".join(encoded)), ends).tolist() == [*map(len, rows)]


@given(mixed)
@example("中文".encode()[:-1])
@example("中文".encode()[1:])
@example(b"\xf4\x90")
def test_damage_is_counted_as_the_reference_does(data: bytes) -> None:
    assert utf8.utf8_damage(array(data)) == reference.utf8_damage(data)


@given(texts)
def test_code_points_are_those_of_the_text(text: str) -> None:
    data = array(text.encode())
    at, codes = 0, []
    while at < len(data):
        code, size = utf8.code_point_at(data, at, len(data))
        codes.append(code)
        at += size
    assert codes == [ord(character) for character in text]


@given(mixed)
def test_code_points_of_any_bytes_stay_in_range(data: bytes) -> None:
    at = 0
    while at < len(data):
        code, size = utf8.code_point_at(array(data), at, len(data))
        assert 0 <= code <= 0x10FFFF
        assert 1 <= size <= len(data) - at
        at += size
