"""Texts of a column are written as the scanner writes each of them."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from neardup.kernels.plain_text import normal_texts
from neardup.kernels.scan import Scanner

BLANKS = " \n\r\t\x00\x1b\x7f\x85\xa0\u1680\u2000\u2009\u200b\u2028\u202f\u205f\u3000\u3000\ufeff"
BLANKS += "\xad\u115f\u17b4\u180e\u200c\u200d\u200f\u202e\u2060\u3164\ufe0f\uffa0\ufff9\U000e0041"
PIECES = st.sampled_from(
    ["word", "a", "é", "中文", "。", "<b>", "&amp;", "\U0001f600", "ی", *BLANKS]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(st.lists(TEXTS, max_size=6))
@example(["one  blank", "", " ", "\n\n", "a\n\nb\n", "ends in a control\x7f", "\x80\u0080é"])
@example(["x" * 70 + "\u3000\u3000" + "y" * 70, "\ufeff"])
def test_texts_are_written_as_the_scanner_writes_them(texts: list[str]) -> None:
    contents = [text.encode() for text in [*texts, "after the last block" * 9]]
    offsets = np.cumsum([3, *map(len, contents)]).astype(np.int64)
    data = np.frombuffer(b"..." + b"".join(contents), np.uint8)
    scanner = Scanner(len(contents), data.size)
    for content in contents:
        scanner.scan(np.frombuffer(content, np.uint8), html=False)
    scan, normal = scanner.result(), normal_texts(data, offsets)
    assert normal.text.tobytes() == scan.text.tobytes()
    assert normal.ends.tolist() == scan.text_ends.tolist()
    assert normal.lines.tolist() == scan.block_ends.tolist()
    written = [
        scan.text[start:end].tobytes().decode()
        for start, end in zip(scan.text_ends, scan.text_ends[1:], strict=False)
    ]
    assert normal.lengths.tolist() == [len(text) for text in written]
