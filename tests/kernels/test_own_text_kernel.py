"""Kernel == reference for a page's own text.

Weights, shares and units here are such that every sum and product is exact (or compared with
tolerance): which of two lines is heavier must not be a matter of rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import minhash
from kernels.reference import own_text as plain
from neardup.kernels import own_features, own_shingles, own_text, site

SHORT = 4.0
exact_units = st.sampled_from([0, 4, 12, 28])  # n / (n + SHORT) is 0, 1/2, 3/4, 7/8
eighths = st.integers(0, 8).map(lambda eighth: eighth / 8)
tokens = st.integers(1, 3) | st.integers(0, 2**64 - 1)
lines = st.builds(
    plain.Line,
    eighths,
    st.booleans(),
    st.lists(st.lists(tokens, max_size=6), min_size=1, max_size=3),
)
pages = st.lists(st.lists(lines, max_size=5), max_size=4)


def places(rows: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


def split(values: NDArray[np.generic], at: NDArray[np.int64]) -> list[list[Any]]:
    return [values[begin:end].tolist() for begin, end in pairwise(at)]


marked_lines = st.tuples(st.booleans(), st.integers(0, 7), st.floats(0, 1, width=32))


@given(st.lists(marked_lines, max_size=9), eighths, eighths)
def test_prose_shares(
    given_lines: list[tuple[bool, int, float]], link: float, outside: float
) -> None:
    menus = np.array([menu for menu, _, _ in given_lines], np.bool_)
    regions = np.array([region for _, region, _ in given_lines], np.uint8)
    shares = np.array([share for _, _, share in given_lines], np.float32)
    found = own_text.prose_shares(menus, regions, shares, link, outside)
    assert found.tolist() == [plain.told_share(*line, link, outside) for line in given_lines]


class Weighed(NamedTuple):
    """A line as the weighing sees it."""

    told: float
    units: int
    repeated: int
    weight: float
    edited: int  # how many more pages have it edited


weighed = st.builds(
    Weighed, eighths, exact_units, st.integers(1, 9), eighths, st.sampled_from([0, 0, 1, 5])
)
known_pages = st.builds(
    plain.Known, st.integers(1, 9), st.sampled_from([2.0, 4.0]), st.sampled_from([1.0, 2.0])
)
weighed_pages = st.lists(st.lists(weighed, max_size=7), max_size=4)


def columns(batch: list[list[Weighed]]) -> tuple[NDArray[np.float64], ...]:
    every = list(chain.from_iterable(batch))
    return tuple(np.array([line[i] for line in every], float) for i in range(len(Weighed._fields)))


@given(weighed_pages, eighths, eighths)
def test_line_weights(batch: list[list[Weighed]], needed: float, outside: float) -> None:
    told, units, *_ = columns(batch)
    at = places(batch)
    found = own_text.line_weights(told, units.astype(np.int64), at, SHORT, needed, outside)
    assert split(found, at) == [
        plain.line_weights(
            [line.told for line in page], [line.units for line in page], SHORT, needed, outside
        )
        for page in batch
    ]


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_best_segment(scores: list[int]) -> None:
    found = own_text._best_segment(np.array(scores, float))
    assert found == plain.best_segment(scores)


@given(
    weighed_pages,
    known_pages,
    st.sampled_from([0.0, 1.0, 2.5, 3.0]),
    st.sampled_from([0.0, 1 / 16, 0.25, 0.5]),
    st.sampled_from([0.0, 0.25, 1.0]),
    st.sampled_from([0.0, 1 / 64, 0.5, 1.0]),
)
def test_weights_on_site(
    batch: list[list[Weighed]],
    known: plain.Known,
    power: float,
    own_share: float,
    new_share: float,
    faint: float,
) -> None:
    told, units, counts, weights, more = columns(batch)
    at = places(batch)
    *found, levels = own_text.weights_on_site(
        weights,
        told,
        units.astype(np.int64),
        counts.astype(np.int64),
        (counts + more).astype(np.int64),
        np.full(len(batch), known.title_count),
        np.full(len(batch), known.few_pages),
        np.full(len(batch), known.pair_level),
        at,
        power,
        own_share,
        new_share,
        faint,
    )
    edited = counts + more
    for level, some, masses in zip(levels, split(edited, at), split(told * units, at), strict=True):
        assert level == plain.own_level(some, masses, own_share)
    for *here, page in zip(*(split(side, at) for side in found), batch, strict=True):
        wanted = plain.weights_on_site(
            [line.weight for line in page],
            [line.told for line in page],
            [line.units for line in page],
            [(line.repeated, line.repeated + line.edited) for line in page],
            known,
            power,
            own_share,
            new_share,
            faint,
        )
        for side in range(2):
            assert here[side] == pytest.approx([each[side] for each in wanted], rel=1e-12)


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0.01, 99)), min_size=1, max_size=30))
def test_all_of_a_page_is_its_own_when_all_is_asked_for(rows: list[tuple[int, float]]) -> None:
    """Whatever the rounding of the sums."""
    counts, masses = np.array(rows).T
    assert own_text._own_level(counts.astype(np.int64), masses, 1.0) == counts.max()


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=60),
    st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
)
def test_the_own_level_of_lines_with_many_counts(rows: list[tuple[int, int]], share: float) -> None:
    """Too many to be looked for one by one."""
    counts, masses = np.array(rows).T
    level = own_text._own_level(counts, masses.astype(float), share)
    assert level == plain.own_level(counts.tolist(), masses.tolist(), share)


class Layout(NamedTuple):
    """A batch of pages as the kernels take it."""

    tokens: NDArray[np.uint64]
    piece_tokens: NDArray[np.int64]
    line_pieces: NDArray[np.int64]
    documents: NDArray[np.int64]
    kept: NDArray[np.float64]
    dense: NDArray[np.bool_]

    @property
    def line_tokens(self) -> NDArray[np.int64]:
        return self.piece_tokens[self.line_pieces]

    @property
    def units(self) -> NDArray[np.int64]:
        return np.diff(self.line_tokens) * np.where(self.dense, 1, 2)


def layout(batch: list[list[plain.Line]]) -> Layout:
    every_line = list(chain.from_iterable(batch))
    every_piece = [piece for line in every_line for piece in line.sentences]
    return Layout(
        np.array(list(chain.from_iterable(every_piece)), np.uint64),
        places(every_piece),
        places([line.sentences for line in every_line]),
        places(batch),
        np.array([line.weight for line in every_line], float),
        np.array([line.dense for line in every_line], np.bool_),
    )


@given(pages, st.integers(2, 9))
def test_own_shingles(batch: list[list[plain.Line]], size: int) -> None:
    page = layout(batch)
    found, at, texts = own_shingles.own_shingles(
        page.tokens, page.line_tokens, page.documents, page.kept, page.dense, size
    )
    assert split(found, at) == [plain.shingles(each, size) for each in batch]
    assert texts.tolist() == [plain.text_hash(each) for each in batch]


@given(pages, st.integers(0, 3), st.integers(0, 9))
def test_heaviest_sentences(batch: list[list[plain.Line]], most: int, least_units: int) -> None:
    found, at = own_shingles.heaviest_sentences(*layout(batch), most, least_units)
    assert split(found, at) == [plain.heaviest_sentences(each, most, least_units) for each in batch]


@given(pages, st.integers(0, 3))
def test_heaviest_lines(batch: list[list[plain.Line]], most: int) -> None:
    page = layout(batch)
    found, at = own_text.heaviest_lines(page.kept * page.units, page.documents, most)
    firsts = page.documents[:-1].tolist()
    assert split(found, at) == [
        [first + line for line in plain.heaviest_lines([x.mass for x in each], most)]
        for first, each in zip(firsts, batch, strict=True)
    ]


@given(pages)
def test_own_masses(batch: list[list[plain.Line]]) -> None:
    page = layout(batch)
    masses, amounts = own_text.own_masses(page.kept, page.units, page.documents)
    wanted = [plain.own_mass(each) for each in batch]
    assert masses.tolist() == pytest.approx([mass for mass, _ in wanted])
    assert amounts.tolist() == pytest.approx([amount for _, amount in wanted])


@given(pages, st.integers(2, 9), st.integers(0, 3))
def test_features_of_weighed_pages(batch: list[list[plain.Line]], size: int, most: int) -> None:
    page = layout(batch)
    data = np.frombuffer(b"".join(b"%d\n" % line for line in range(page.dense.size)), np.uint8)
    begins = np.array([0, *(np.flatnonzero(data == ord("\n")) + 1)])
    found = own_features.features(
        data,
        begins,
        page.documents,
        own_features.Cut(page.tokens, page.piece_tokens, page.line_pieces, page.dense),
        own_features.Weighed(
            page.units, page.kept, page.kept / 2, np.zeros(0, np.uint64), np.zeros(0, np.bool_)
        ),
        size,
        most,
    )
    assert split(found.shingles, found.shingle_places) == [plain.shingles(p, size) for p in batch]
    assert found.texts.tolist() == [plain.text_hash(each) for each in batch]
    assert split(found.sentences, found.sentence_places) == [
        plain.heaviest_sentences(each, most, size) for each in batch
    ]
    masses = [plain.own_mass(each) for each in batch]
    assert found.masses.tolist() == pytest.approx([mass for mass, _ in masses])
    assert found.host_masses.tolist() == pytest.approx([mass / 2 for mass, _ in masses])
    assert found.amounts.tolist() == pytest.approx([amount for _, amount in masses])
    kept = [[(at, line) for at, line in enumerate(each) if line.weight > 0] for each in batch]
    runs = [
        [
            (at, len(line.tokens), line.unit, line.weight * line.unit, line.weight / 2 * line.unit)
            for at, line in each
        ]
        for each in kept
    ]
    columns = (
        found.run_lines,
        found.run_tokens,
        found.run_units,
        found.run_weights,
        found.host_weights,
    )
    by_page = [split(column, found.run_places) for column in columns]
    assert [list(zip(*each, strict=True)) for each in zip(*by_page, strict=True)] == runs
    heaviest = [plain.heaviest_lines([x.mass for x in p], own_features.SAMPLES) for p in batch]
    assert split(found.samples, found.sample_places) == [
        [[at for at, _ in here].index(line) for line in lines]
        for here, lines in zip(kept, heaviest, strict=True)
    ]
    texts = found.sample_bytes.tobytes().decode()
    shown = [texts[first:end] for first, end in pairwise(found.sample_offsets.tolist())]
    firsts = page.documents.tolist()
    assert shown == [
        str(first + line) for first, lines in zip(firsts, heaviest, strict=False) for line in lines
    ]


counted = st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(1, 40), st.integers(1, 40))


@given(pages, st.data())
def test_weights_with_a_survey(batch: list[list[plain.Line]], data: st.DataObject) -> None:
    """Host, title, and the counts of both, of each page; the counts of lines and their traces."""
    page = layout(batch)
    known = [data.draw(counted) for _ in batch]
    hosts, titles = (np.array([each[i] for each in known], np.uint64) for i in (0, 1))
    lines_, pages_ = page.dense.size, len(batch)
    hashes = np.arange(lines_).astype(np.uint64) + np.uint64(1)
    traces = np.zeros((lines_, 4), np.uint64)
    traces[:, 0] = hashes + np.uint64(1_000_000)
    host_keys, title_keys = site.host_keys(hosts), site.title_keys(hosts, titles)
    table: dict[int, int] = {}
    for keys, count in (host_keys, 2), (title_keys, 3):
        of_pages = zip(keys.tolist(), (each[count] for each in known), strict=True)
        table |= {key: number for key, number in of_pages if key}
    page_of = np.repeat(np.arange(pages_), np.diff(page.documents))
    for of_line in hashes, traces[:, 0]:
        for line, number in enumerate(of_line):
            count = data.draw(st.integers(1, 40))
            if host := hosts[page_of[line]]:
                table[int(site.line_key(host, number))] = count
    keys = np.array(sorted(table), np.uint64)
    counts = site.count_table(keys, np.array([table[key] for key in keys.tolist()], np.int64))
    constants = own_features.Constants(8, 0.1, 0.25, SHORT, 0.5, 3.0, 0.05, 0.3, 0.01)
    no_furniture = np.zeros((pages_, site.BANDS), np.uint64)
    menus, regions = np.zeros(lines_, np.bool_), np.zeros(lines_, np.uint8)
    shares = np.zeros(lines_, np.float32)
    found = own_features.weigh(
        own_features.Cut(page.tokens, page.piece_tokens, page.line_pieces, page.dense),
        page.documents,
        menus,
        regions,
        shares,
        own_features.OnSites(
            hosts, titles, no_furniture, hashes, np.arange(lines_), traces, page.documents
        ),
        counts,
        constants,
    )
    assert found.units.tolist() == page.units.tolist()
    host_pages, with_title = (site.counts_of(each, *counts) for each in (host_keys, title_keys))
    few = host_pages / 8
    may_be_pair = (with_title > 1) | (titles == 0)
    of_site = hosts, host_pages, *counts
    exact = site.line_counts(hashes, page.documents, hosts, host_pages, no_furniture, 8, *counts)
    edited = np.maximum(exact, site.trace_counts(traces, page.documents, *of_site))
    prose = own_text.prose_shares(menus, regions, shares, 0.1, 0.25)
    kept, on_host, levels = own_text.weights_on_site(
        own_text.line_weights(prose, page.units, page.documents, SHORT, 0.5, 0.25),
        prose,
        page.units,
        exact,
        edited,
        with_title,
        np.maximum(few, 2.0),
        np.where(may_be_pair, np.clip(few, 1.0, 2.0), 1.0),
        page.documents,
        3.0,
        0.05,
        0.3,
        0.01,
    )
    assert found.kept.tolist() == kept.tolist()
    assert found.on_host.tolist() == on_host.tolist()
    assert found.own_titles.tolist() == np.where(with_title <= few, titles, 0).tolist()
    several = levels >= np.maximum(2 * with_title, 4)
    on_most = (levels >= 0.75 * host_pages) & (levels <= host_pages)
    assert found.may_be_shells.tolist() == (several & on_most & (titles != 0)).tolist()


described = st.tuples(
    st.lists(st.integers(1, 2**32 - 1), max_size=9),
    st.lists(st.integers(0, 2**64 - 1), max_size=3),
    st.sampled_from([-1.0, 29.0, 30.0, 99.0]),
)


@given(st.lists(described, max_size=4), st.sampled_from([(4, 2), (2, 1)]))
def test_keys(batch: list[tuple[list[int], list[int], float]], shape: tuple[int, int]) -> None:
    bands, rows = shape
    every_shingle, every_sentence = [page[0] for page in batch], [page[1] for page in batch]
    found, keys = own_features.keys(
        np.array(list(chain.from_iterable(every_shingle)), np.uint32),
        places(every_shingle),
        np.array(list(chain.from_iterable(every_sentence)), np.uint64),
        places(every_sentence),
        np.array([amount for *_, amount in batch], np.float64),
        30.0,
        bands,
        rows,
    )
    wanted = []
    for page, (shingles, sentences, amount) in enumerate(batch):
        samples = minhash.one_permutation([value << 32 for value in shingles], bands * rows)
        if amount >= 30.0:
            wanted += [(page, key) for key in [*minhash.group_hashes(samples, rows), *sentences]]
    assert list(zip(found.tolist(), keys.tolist(), strict=True)) == wanted
