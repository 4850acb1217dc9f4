"""However a stream of pages is cut into batches, the clusters are the same."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_checks import check_whole, groups
from neardup import Index, RawPage, html_page
from neardup.index.candidates import (
    BOUNDS,
    Bounds,
    Keys,
    candidates_of_few,
    candidates_of_many,
)
from neardup.methods.minhash import Minhash
from neardup.methods.registry import make_method
from neardup.schemas import KEYS
from neardup.stores.session import Session

METHODS = ["own-text", "exact", "simhash", "minhash"]
MANY = 20_000
WORDS = [f"{start}{end}" for start in "bcdfghklmnprst" for end in ("arin", "olet", "umek", "ivas")]


def article(family: int) -> list[str]:
    """The sentences of a family of pages; no two families share one."""
    chosen = random.Random(family)
    return [" ".join(chosen.choices(WORDS, k=14)) + "." for _ in range(12)]


def page(
    number: int, host: str, sentences: Sequence[str], *, menu: str = "", note: str = ""
) -> RawPage:
    body = "".join(f"<p>{sentence}</p>" for sentence in [*sentences, note] if sentence)
    html = f"<title>{sentences[0]}</title><body><nav>{menu}</nav><article>{body}</article>"
    return html_page(html, id=f"p{number:05d}", url=f"http://{host}/{number}")


def near_copy(number: int, family: int, edit: int) -> RawPage:
    """A page of a family on a host of its own; with `edit` > 0 one of its sentences is changed."""
    sentences = article(family)
    if edit:
        sentences[edit % len(sentences)] = f"Edited for the {edit} time by hand."
    return page(number, f"h{number}.example", sentences)


def sister(number: int, topic: int) -> RawPage:
    """A page of one site, under the site's menu, with text of its own."""
    menu = "".join(f"<a href='/{n}'>Section {n} of our paper</a>" for n in range(6))
    return page(number, "sisters.example", article(1_000 + topic), menu=menu)


def bridge(number: int, left: int, right: int) -> RawPage:
    """Half of one family's text and half of another's."""
    return page(number, f"b{number}.example", [*article(left)[:7], *article(right)[5:]])


contents = st.one_of(
    st.tuples(st.just(near_copy), st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.just(sister), st.integers(0, 3)),
    st.tuples(st.just(bridge), st.integers(0, 2), st.integers(0, 2)),
)


def added(
    pages: Sequence[RawPage], method: str, cuts: Sequence[int], bounds: Bounds
) -> set[frozenset[str]]:
    """The clusters when the pages come in batches that end at these cuts."""
    with Index.open("memory://", method) as index:
        index.bounds = bounds
        for start, end in zip([0, *cuts], [*cuts, len(pages)], strict=True):
            index.add_many(pages[start:end])
        check_whole(index)
        return groups(index)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bounds", [Bounds(hot=6, reach=3, candidates=3, component=3), BOUNDS])
@settings(max_examples=15, deadline=None)
@given(st.lists(contents, min_size=2, max_size=16), st.data())
def test_any_cutting(
    method: str, bounds: Bounds, drawn: list[tuple[object, ...]], data: st.DataObject
) -> None:
    pages = [make(number, *values) for number, (make, *values) in enumerate(drawn)]  # type: ignore[operator]
    cuts = data.draw(st.lists(st.integers(0, len(pages)), max_size=4).map(sorted))
    one_by_one = added(pages, method, range(1, len(pages)), bounds)
    assert added(pages, method, cuts, bounds) == one_by_one
    assert added(pages, method, [], bounds) == one_by_one


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1, 64, 201, 256])
def test_copies_in_batches(method: str, size: int) -> None:
    pages = [near_copy(number, 1, 0) for number in range(300)]
    with Index.open("memory://", method) as index:
        answers = []
        for start in range(0, len(pages), size):
            answers += index.add_many(pages[start : start + size])
        assert [answer.duplicate for answer in answers] == [False] + [True] * 299
        assert len(groups(index)) == 1
        check_whole(index)


@pytest.mark.parametrize("method", METHODS)
def test_many_copies_at_linear_cost(method: str) -> None:
    with Index.open("memory://", method) as index:
        seconds = []
        for start in range(0, MANY, 2_000):
            began = time.process_time()
            pages = (
                page(number, f"h{number}.example", article(1), note=f"Page {number}.")
                if method != "exact"
                else near_copy(number, 1, 0)
                for number in range(start, start + 2_000)
            )
            answers = index.add_many(pages)
            seconds.append(time.process_time() - began)
            assert sum(not answer.duplicate for answer in answers) == (start == 0)
        assert len(groups(index)) == 1
        assert min(seconds[-3:]) < 2 * min(seconds[1:4]), (
            "the cost of a page grows with the cluster"
        )


def test_a_copy_is_found_although_all_its_keys_are_hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other pages have taken its place under every key that the method gives it."""

    def one_key_for_all(self: Minhash, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = np.arange(features.num_rows)
        return pa.record_batch([rows, np.zeros(rows.size, np.uint64)], schema=KEYS)

    monkeypatch.setattr(Minhash, "keys", one_key_for_all)
    pages = [near_copy(number, family=number, edit=0) for number in range(30)]
    with Index.open("memory://", "minhash") as index:
        index.bounds = Bounds(hot=8, reach=2)
        index.add_many(pages)
        assert len(groups(index)) == len(pages)
        check_whole(index)
        for number in range(0, 30, 7):
            copy = html_page(pages[number].body, id="copy", url="http://copy.example/")
            assert index.query(copy).of == pages[number].id


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("method", ["own-text", "simhash"])
def test_candidates_of_few_pages_are_those_of_many(method: str, seed: int) -> None:
    """A few entries of keys have a way of their own to their candidates, and the same ones."""
    chance = random.Random(seed)
    stored = range(1, 60)
    postings = [
        (key, number) for key in range(12) for number in stored if chance.random() < key / 11
    ]
    chance.shuffle(postings)
    gone = {*chance.sample(stored, 5)}
    again = sorted({*stored} - gone)[:: chance.choice([7, 60])] if seed % 2 else []
    arriving = {**dict.fromkeys(again, 55), **dict.fromkeys(range(100, 100 + seed // 6 + 1), 60)}
    entries = [
        (key, page)
        for key in range(12)
        for page in sorted(arriving)
        if page == 100 or chance.random() < 0.5
    ]
    keys = Keys(*np.array(entries, np.int64).T.copy())
    bounds = Bounds(hot=20, reach=5, candidates=8, window=chance.choice([None, 30]))
    session = cast("Session", _Seen({number: number for number in stored}))
    arguments = make_method(method), session, postings, keys, arriving, gone, bounds
    few, many = candidates_of_few(*arguments), candidates_of_many(*arguments)
    assert [*zip(few.left.tolist(), few.right.tolist(), strict=True)] == [
        *zip(many.left.tolist(), many.right.tolist(), strict=True)
    ]
    assert {*few.remembered.entries()} == {*many.remembered.entries()}
    assert [*few.forgotten.entries()] == [*many.forgotten.entries()]
    assert [*few.present.entries()] == [*many.present.entries()]
    assert few.left.size
    assert few.forgotten.keys.size


ENTRIES = st.sets(st.tuples(st.integers(-3, 3), st.integers(0, 4)))


@given(ENTRIES, ENTRIES)
def test_keys_without_others(some: set[tuple[int, int]], others: set[tuple[int, int]]) -> None:
    left = Keys.of(some).without(Keys.of(others))
    assert sorted(left.entries()) == sorted(some - others)


class _Seen:
    """When pages were last added; all of a session that candidates need."""

    def __init__(self, times: dict[int, int]) -> None:
        self._times = times

    def seen(self, numbers: list[int]) -> dict[int, int]:
        return {number: self._times[number] for number in numbers}
