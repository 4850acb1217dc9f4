"""The last words of sentences: kernel against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.reference import sentence_ends as reference
from neardup.kernels.sentence_ends import Spans, han_before_stops, last_words
from sentence_texts import sentences

characters = st.sampled_from("的了是好来。｡．.!?！？… \nabZé1カすのa-'\")」”，々〇𠀀x")
texts = st.lists(st.text(characters, max_size=40), max_size=5)


def spans_as_text(documents: list[str], spans: Spans, data: bytes) -> list[list[str]]:
    starts, ends, places = (each.tolist() for each in spans)
    words = [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]
    return [words[places[d] : places[d + 1]] for d in range(len(documents))]


def buffer_of(documents: list[str]) -> tuple[np.ndarray, np.ndarray, bytes]:
    encoded = [document.encode() for document in documents]
    data = b"".join(encoded)
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    return np.frombuffer(data, np.uint8), offsets, data


@given(texts)
@example(["好。的｡ 。x。"])
def test_han_before_stops_equals_the_plain_reading(documents: list[str]) -> None:
    data, offsets, content = buffer_of(documents)
    found = spans_as_text(documents, han_before_stops(data, offsets), content)
    assert found == [reference.han_before_stops(document) for document in documents]


@given(texts)
def test_last_words_equal_the_plain_reading(documents: list[str]) -> None:
    data, offsets, content = buffer_of(documents)
    found = spans_as_text(documents, last_words(data, offsets), content)
    plain = [[reference.last_word(each) for each in sentences(text)] for text in documents]
    assert found == [[word for word in words if word] for words in plain]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat sat. On the mat!", ["sat", "mat"]),
        ("Home\nNews\nAbout us", []),  # no full stop: not a sentence of the text
        ('He said "no." Then (at last) he went.', ["no", "went"]),
        ("It grew 5.5%.", ["5"]),
        ("これはペンです。", ["ペンです"]),
        ("Привет, мир.", ["мир"]),
    ],
)
def test_last_words_of_sentences(text: str, words: list[str]) -> None:
    data, offsets, content = buffer_of([text])
    assert spans_as_text([text], last_words(data, offsets), content) == [words]
