"""Kernel == reference for texts as JSON writes them."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import json_text as plain
from neardup.kernels.json_text import count_values, quoted_texts

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


@given(st.text(st.sampled_from('[]{},:"\\a1\n')))
@example('{"a": "[\\"[", "b": [1, 2]}')
@example('"\\')
def test_count_values(text: str) -> None:
    data = text.encode()
    assert count_values(np.frombuffer(data, np.uint8)) == plain.count_values(data)


values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_no_text_has_more_values_than_are_counted(value: object) -> None:
    def count(each: object) -> int:
        if isinstance(each, dict):
            each = list(each.values())
        return 1 + (sum(count(inner) for inner in each) if isinstance(each, list) else 0)

    counted = count_values(np.frombuffer(json.dumps(value).encode(), np.uint8))
    assert count(value) <= counted <= 2 * count(value)


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
