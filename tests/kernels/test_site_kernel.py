"""Kernel == reference for what the pages of a site repeat."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.reference import site as plain
from neardup.kernels import site

hashes = st.sampled_from([0, 1, 7, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1)
few_hashes = st.integers(1, 12)  # so that pages share lines and repeat their own
lines = st.tuples(few_hashes, st.booleans())
pages = st.builds(plain.Page, st.integers(0, 3), st.lists(lines, max_size=12))
batches = st.lists(pages, max_size=6)
least = st.integers(1, 10)


def arrays(
    batch: list[plain.Page],
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.uint64]]:
    """Line hashes, where each page's lines begin, which are furniture, and the hosts."""
    every = [line for page in batch for line in page.lines]
    return (
        np.array([line for line, _ in every], np.uint64),
        np.cumsum([0, *(len(page.lines) for page in batch)], dtype=np.int64),
        np.array([furniture for _, furniture in every], np.bool_),
        np.array([page.host for page in batch], np.uint64),
    )


@given(batches, least)
def test_furniture_keys(batch: list[plain.Page], least: int) -> None:
    found, documents, furniture, _ = arrays(batch)
    keys = site.furniture_keys(found, documents, furniture, least)
    assert keys.tolist() == [plain.furniture_keys(page, least) for page in batch]


def test_repeated_furniture_does_not_make_a_site() -> None:
    page = plain.Page(0, [(1, True)] * 8 + [(2, True)])
    found, documents, furniture, _ = arrays([page])
    assert not site.furniture_keys(found, documents, furniture, 3).any()
    assert site.furniture_keys(found, documents, furniture, 2).all()


@given(batches, least)
def test_survey_keys(batch: list[plain.Page], least: int) -> None:
    found, documents, furniture, hosts = arrays(batch)
    sites = site.furniture_keys(found, documents, furniture, least)
    keys = site.survey_keys(found, documents, furniture, hosts, sites)
    assert Counter(keys.tolist()) == survey(batch, least)


def test_lines_whose_hashes_meet_in_the_table_take_linear_time() -> None:
    """Whoever knows the hash function can write such lines: a hundred thousand in a row would take
    five thousand million steps."""
    distinct = np.arange(100_000, dtype=np.uint64) << np.uint64(24)
    page = np.concatenate([distinct, distinct[::-1]])
    documents = np.array([0, len(page)], np.int64)
    no_furniture, hosts = np.zeros(len(page), np.bool_), np.array([5], np.uint64)
    sites = np.zeros((1, site.BANDS), np.uint64)
    site.survey_keys(page, documents // 100_000, no_furniture, hosts, sites)  # compiles
    started = time.process_time()
    keys = site.survey_keys(page, documents, no_furniture, hosts, sites)
    assert time.process_time() - started < 2
    assert len(keys) == len(np.unique(keys)) == len(distinct)


def survey(batch: list[plain.Page], least: int) -> Counter[int]:
    return Counter(
        chain.from_iterable(
            plain.survey_keys(page, plain.furniture_keys(page, least)).elements() for page in batch
        )
    )


def count_table(
    counts: dict[int, int],
) -> site.CountTable:
    """The table of counts, which wants its keys in order."""
    keys = np.array(sorted(counts), np.uint64)
    return site.count_table(keys, np.array([counts[int(key)] for key in keys], np.int64))


marked_lines = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.0, 0.4, 0.5, 1]))


@given(st.lists(marked_lines), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_furniture_lines(
    batch: list[tuple[int, int, float]], one: int, other: int, button: int
) -> None:
    regions, kinds, shares = zip(*batch, strict=True) if batch else ((), (), ())
    menus, furniture = site.furniture_lines(
        np.array(regions, np.uint8),
        np.array(kinds, np.uint8),
        np.array(shares, np.float32),
        (one, other),
        button,
        0.5,
    )
    wanted = [plain.is_furniture(*line, {one, other}, button, 0.5) for line in batch]
    assert list(zip(menus.tolist(), furniture.tolist(), strict=True)) == wanted


@given(batches, least, st.integers(1, 5))
def test_line_counts(batch: list[plain.Page], least: int, few_pages: int) -> None:
    """As the engine does it: what is counted more than once is in the table, in order."""
    every = survey(batch, least) + Counter(plain.host_key(page.host) for page in batch if page.host)
    repeated = {key: count for key, count in sorted(every.items()) if count > 1}
    found, documents, furniture, hosts = arrays(batch)
    sites = site.furniture_keys(found, documents, furniture, least)
    table = count_table(repeated)
    on_hosts = site.counts_of(site.host_keys(hosts), *table)
    counts = site.line_counts(found, documents, hosts, on_hosts, sites, few_pages, *table)
    wanted = [
        plain.line_counts(page, plain.furniture_keys(page, least), few_pages, repeated)
        for page in batch
    ]
    assert counts.tolist() == list(chain.from_iterable(wanted))
    assert on_hosts.tolist() == [
        repeated.get(plain.host_key(host), 1) if host else 1 for host in hosts.tolist()
    ]


trace_rows = st.lists(st.lists(st.integers(0, 5), min_size=4, max_size=4), max_size=4)


@given(st.lists(st.tuples(st.integers(0, 2), trace_rows), max_size=6))
def test_traces_are_counted_by_page(batch: list[tuple[int, list[list[int]]]]) -> None:
    hosts = np.array([host for host, _ in batch], np.uint64)
    documents = np.cumsum([0, *(len(rows) for _, rows in batch)], dtype=np.int64)
    traces = np.array([row for _, rows in batch for row in rows], np.uint64).reshape(-1, 4)
    keys = site.trace_keys(traces, documents, hosts)
    every = Counter(key for host, rows in batch for key in plain.trace_keys(host, rows))
    assert Counter(keys.tolist()) == every
    every += Counter(plain.host_key(host) for host, _ in batch if host)
    repeated = {key: count for key, count in every.items() if count > 1}
    table = count_table(repeated)
    on_hosts = site.counts_of(site.host_keys(hosts), *table)
    counts = site.trace_counts(traces, documents, hosts, on_hosts, *table)
    wanted = [plain.trace_counts(host, rows, repeated) for host, rows in batch]
    assert counts.tolist() == list(chain.from_iterable(wanted))


@given(st.lists(st.tuples(pages, st.integers(0, 2), trace_rows), max_size=6), least)
def test_keys_of_pages_are_those_of_all_their_parts(
    batch: list[tuple[plain.Page, int, list[list[int]]]], least: int
) -> None:
    rows = [rows for _, _, rows in batch]
    found, documents, furniture, hosts = arrays([page for page, _, _ in batch])
    titles = np.array([title for _, title, _ in batch], np.uint64)
    traces = np.array(list(chain.from_iterable(rows)), np.uint64).reshape(-1, 4)
    sites = site.furniture_keys(found, documents, furniture, least)
    traced = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    keys, starts = site.page_keys(found, documents, furniture, traces, traced, hosts, titles, sites)
    for number, (page, title, _) in enumerate(batch):
        wanted = plain.survey_keys(page, plain.furniture_keys(page, least))
        wanted.update(plain.trace_keys(page.host, rows[number]))
        wanted.update([plain.host_key(page.host)] if page.host else [])
        wanted.update([plain.title_key(page.host, title)] if page.host and title else [])
        assert Counter(keys[starts[number] : starts[number + 1]].tolist()) == wanted


meeting = st.integers(1, 600).map(lambda count: [number << 40 for number in range(1, count)])


@given(st.lists(hashes.filter(bool)) | meeting, st.lists(hashes), st.integers(0, 3))
def test_counts_among_wanted_keys(wanted: list[int], keys: list[int], times: int) -> None:
    keys = keys + wanted[::2] * times
    found, counts = site.counts_among(np.array(wanted, np.uint64), np.array(keys, np.uint64))
    every = Counter(keys)
    several = {key: every[key] for key in sorted(set(wanted)) if every[key] > 1}
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == several
    assert found.tolist() == list(several)


@given(
    st.lists(st.tuples(pages, st.integers(0, 2), trace_rows), max_size=6),
    least,
    st.lists(hashes),
    st.integers(0, 2),
)
def test_counts_on_sites(
    batch: list[tuple[plain.Page, int, list[list[int]]]],
    least: int,
    others: list[int],
    times: int,
) -> None:
    rows = [rows for _, _, rows in batch]
    found, documents, furniture, hosts = arrays([page for page, _, _ in batch])
    traces = np.array(list(chain.from_iterable(rows)), np.uint64).reshape(-1, 4)
    traced = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    titles = np.array([title for _, title, _ in batch], np.uint64)
    about = traces, traced, hosts, titles, site.furniture_keys(found, documents, furniture, least)
    keys, starts = site.page_keys(found, documents, furniture, *about)
    wanted, _ = site.page_keys(found, documents, np.zeros_like(furniture), *about)
    others = others + wanted.tolist()[::2] * times
    of_others = np.array(others, np.uint64)
    own, places, table = site.count_on_sites(found, documents, furniture, *about, of_others)
    assert own.tolist() == keys.tolist()
    assert places.tolist() == starts.tolist()
    every = Counter([*keys.tolist(), *others])
    several = {key: every[key] for key in sorted({*wanted.tolist()}) if every[key] > 1}
    assert dict(zip(table[2].tolist(), table[3].tolist(), strict=True)) == several
    assert all(site.look_up(*table, key) == every[int(key)] for key in table[2])


@given(st.lists(st.tuples(hashes, hashes)))
def test_keys_of_hosts_and_titles(batch: list[tuple[int, int]]) -> None:
    hosts, titles = np.array(batch, np.uint64).reshape(-1, 2).T.copy()
    assert site.host_keys(hosts).tolist() == [
        plain.host_key(host) if host else 0 for host, _ in batch
    ]
    assert site.title_keys(hosts, titles).tolist() == [
        plain.title_key(host, title) if host and title else 0 for host, title in batch
    ]


@given(st.dictionaries(hashes.filter(bool), st.integers(1, 9), max_size=40), st.lists(hashes))
def test_the_table_is_a_dictionary(given: dict[int, int], others: list[int]) -> None:
    counts = dict(sorted(given.items()))
    table = count_table(counts)
    for key in [*counts, *others]:
        assert site.look_up(*table, np.uint64(key)) == counts.get(key, 1)


@given(st.sets(st.integers(1, 2**50), min_size=2, max_size=40))
def test_keys_that_want_the_same_place_are_told_apart(numbers: set[int]) -> None:
    keys = [number << 7 for number in sorted(numbers)]  # most in the first range
    table = site.count_table(np.array(keys, np.uint64), np.arange(len(keys)) + 2)
    assert [site.look_up(*table, np.uint64(key)) for key in keys] == list(range(2, len(keys) + 2))
    assert site.look_up(*table, np.uint64((max(numbers) + 1) << 7)) == 1


@given(hashes, hashes)
def test_line_key(host: int, line: int) -> None:
    assert int(site.line_key(np.uint64(host), np.uint64(line))) == plain.line_key(host, line)


def test_lines_of_different_sites_have_keys_of_their_own() -> None:
    keys = {plain.line_key(host, line) for host, line in product(range(20), range(20))}
    assert len(keys) == 400
