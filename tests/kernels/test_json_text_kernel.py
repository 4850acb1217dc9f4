"""Kernel == reference for texts as JSON writes them."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import json_text as plain
from neardup.kernels.json_text import quoted_texts

hard = st.text(st.sampled_from([chr(code) for code in range(40)] + list('"\\/\x7f茶é𠮷\u2028a')))
texts = st.none() | hard | st.text()


@given(st.lists(texts, max_size=5), st.sampled_from(["", ',"name":', "é"]))
@example([None, "", '"', "\x1f\n\\"], ":")
def test_quoted_texts(given_texts: list[str | None], before: str) -> None:
    found = quoted(given_texts, before)
    assert found == [plain.quoted(text, before) for text in given_texts]


@given(hard)
def test_json_reads_them_back(text: str) -> None:
    assert json.loads(quoted([text], "")[0]) == text


def quoted(given_texts: list[str | None], before: str) -> list[str]:
    encoded = [np.frombuffer((text or "").encode(), np.uint8) for text in given_texts]
    sizes = [
        -1 if text is None else each.size for text, each in zip(given_texts, encoded, strict=True)
    ]
    data, offsets = quoted_texts(
        np.array([each.ctypes.data for each in encoded], np.uint64),
        np.array(sizes, np.int64),
        np.frombuffer(before.encode(), np.uint8),
    )
    assert offsets[-1] == data.size
    return [data[a:b].tobytes().decode() for a, b in pairwise(offsets)]
