from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from neardup.rules import clusters as rule
from neardup.rules.clusters import APART, centred_clusters, in_ranges, join_repository

Rows = NDArray[np.int64]


def clusters(
    count: int,
    pairs: list[tuple[int, int]],
    also_close: set[tuple[int, int]] | None = None,
    sisters: list[int] | None = None,
    similarity: list[float] | None = None,
) -> list[int]:
    known = {frozenset(pair) for pair in [*pairs, *(also_close or set())]}

    def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
        asked = zip(one.tolist(), other.tolist(), strict=True)
        return np.array([0.5 if frozenset(pair) in known else APART for pair in asked])

    left = np.array([a for a, _ in pairs], np.int64)
    right = np.array([b for _, b in pairs], np.int64)
    labels = centred_clusters(
        np.array(sisters or [0] * count, np.uint64),
        left,
        right,
        np.array(similarity or [0.5] * len(pairs)),
        closeness,
    )
    return [int(label) for label in labels]


def test_a_star_is_one_cluster() -> None:
    assert clusters(5, [(2, 0), (2, 1), (2, 3), (2, 4)]) == [0, 0, 0, 0, 0]


def test_a_pair_is_a_cluster_and_a_page_alone_its_own() -> None:
    assert clusters(3, [(1, 2)]) == [0, 1, 1]


def test_a_page_that_was_no_candidate_stays_when_it_is_close_to_the_centre() -> None:
    pairs = [(0, 1), (0, 2), (0, 4), (2, 3)]
    assert clusters(5, pairs, {(0, 3)}) == [0, 0, 0, 0, 0]
    assert clusters(5, pairs) == [0, 0, 0, 3, 0]


def test_two_articles_joined_by_a_half_and_half_page_come_apart() -> None:
    one = [(0, 1), (0, 2), (1, 2)]
    other = [(4, 5), (4, 6), (5, 6)]
    labels = clusters(7, [*one, *other, (2, 3), (3, 4)])
    assert labels[0] == labels[1] == labels[2]
    assert labels[4] == labels[5] == labels[6]
    assert labels[0] != labels[4]


def test_a_long_chain_falls_apart_in_few_rounds() -> None:
    count, asked = 20_000, []

    def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
        asked.append(one.size)
        return np.where(np.abs(one - other) <= 1, 0.5, APART)

    chain = np.arange(count - 1), np.arange(1, count), np.full(count - 1, 0.5)
    labels = centred_clusters(np.zeros(count, np.uint64), *chain, closeness)
    assert np.bincount(labels).max() == 3
    assert len(asked) < 60


def test_sisters_that_are_apart_are_not_joined_by_a_third_page() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (2, 3)]
    assert clusters(4, pairs, similarity=[0.9, 0.8, 0.7, 0.9]) == [0, 0, 0, 0]
    apart = clusters(4, pairs, sisters=[1, 2, 2, 1], similarity=[0.9, 0.8, 0.7, 0.9])
    assert apart == [0, 0, 2, 2]  # 3 is closer to 2, which leaves, than to the centre
    assert clusters(4, pairs, {(1, 2)}, sisters=[1, 2, 2, 0]) == [0, 0, 0, 0]


def test_a_page_goes_with_its_closest_neighbour() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (3, 4)]
    assert clusters(5, pairs, similarity=[0.8, 0.8, 0.8, 0.7]) == [0, 0, 0, 0, 4]
    assert clusters(5, pairs, similarity=[0.8, 0.8, 0.8, 0.9]) == [0, 0, 0, 3, 3]
    assert clusters(5, pairs, {(0, 4)}, similarity=[0.8, 0.8, 0.8, 0.9]) == [0] * 5


def test_rival_sisters_form_a_cluster_of_their_own() -> None:
    pairs = [(0, 1), (2, 3), (0, 2), (1, 3)]
    likes = [0.9, 0.9, 0.8, 0.8]
    assert clusters(4, pairs, {(0, 3), (1, 2)}, similarity=likes) == [0, 0, 0, 0]
    assert clusters(4, pairs, sisters=[1, 2, 2, 1], similarity=likes) == [0, 0, 2, 2]


edges = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).filter(lambda e: e[0] != e[1]))


@given(st.lists(st.integers(0, 9), max_size=30), edges, st.integers(1, 40))
def test_ranges_hold_whole_groups_with_their_pairs(
    named: list[int], pairs: list[tuple[int, int]], most: int
) -> None:
    groups = np.array([named.index(name) for name in named], np.int64)
    pairs = [pair for pair in pairs if max(pair) < len(named)]
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    shared = {name for name in named if named.count(name) > 1}
    found: list[int] = []
    inside = np.zeros(len(pairs), int)
    for pages, here in in_ranges(groups, left, right, most):
        names = {named[page] for page in pages.tolist()}
        assert pages.tolist() == [page for page, name in enumerate(named) if name in names]
        assert pages.size <= most or len(names) == 1
        assert {*left[here].tolist(), *right[here].tolist()} <= {*pages.tolist()}
        found += pages.tolist()
        inside[here] += 1
    assert sorted(found) == [page for page, name in enumerate(named) if name in shared]
    assert inside.tolist() == [named[a] == named[b] for a, b in pairs]


def test_clusters_do_not_depend_on_the_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    pairs = [(a, b) for a, b in random.integers(0, 400, (500, 2)).tolist() if a != b]
    sisters, similarity = random.integers(0, 40, 400).tolist(), random.random(len(pairs)).tolist()
    expected = clusters(400, pairs, sisters=sisters, similarity=similarity)
    monkeypatch.setattr(rule, "PAGES_AT_ONCE", 3)
    assert clusters(400, pairs, sisters=sisters, similarity=similarity) == expected


@given(edges)
def test_every_member_is_close_to_one_page_of_its_cluster(pairs: list[tuple[int, int]]) -> None:
    labels = clusters(13, pairs)
    near = {frozenset(pair) for pair in pairs}
    for name in set(labels):
        members = [page for page in range(13) if labels[page] == name]
        assert name == min(members)
        assert any(
            all(page == centre or frozenset((page, centre)) in near for page in members)
            for centre in members
        )


@given(edges, st.randoms())
def test_the_order_of_pairs_does_not_matter(
    pairs: list[tuple[int, int]], random: np.random.Generator
) -> None:
    turned = [pair if random.random() < 0.5 else pair[::-1] for pair in pairs]
    shuffled = sorted(turned, key=lambda _: random.random())
    assert clusters(13, shuffled) == clusters(13, pairs)


# The repository of kept pages

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([0.7, 0.8, 0.9])),
    unique_by=lambda pair: (min(pair[:2]), max(pair[:2])),
).map(lambda pairs: [pair for pair in pairs if pair[0] != pair[1]])


def stored(order: list[int], pairs: list[tuple[int, int, float]], earlier: list[int]) -> list[int]:
    """Each page against the pages kept before it, plainly."""
    similarity = {frozenset(pair[:2]): pair[2] for pair in pairs}
    kept = dict(enumerate(earlier))
    repository: list[int] = []
    for page in order:
        if kept[page] == page:
            known = [other for other in repository if frozenset((page, other)) in similarity]
            if known:
                kept[page] = max(known, key=lambda other: similarity[frozenset((page, other))])
            else:
                repository.append(page)
    return [kept[page] for page in range(len(order))]


@given(st.permutations(range(8)), PAIRS)
def test_each_page_joins_the_most_similar_kept_page(
    order: list[int], pairs: list[tuple[int, int, float]]
) -> None:
    ends = np.array([sorted(pair[:2]) for pair in pairs], np.int64).reshape(-1, 2)
    similarity = np.array([pair[2] for pair in pairs], float)
    alone = list(range(8))
    found = join_repository(
        np.array(order), ends[:, 0], ends[:, 1], similarity, np.array(alone)
    ).tolist()
    assert found == stored(order, pairs, alone)
    assert all(found[page] == page or found[found[page]] == found[page] for page in range(8))


def test_a_repository_does_not_chain() -> None:
    chain = np.arange(4)
    found = join_repository(np.arange(5), chain, chain + 1, np.full(4, 0.9), np.arange(5))
    assert found.tolist() == [0, 0, 2, 2, 4]


def test_what_was_dropped_before_is_no_page_to_join() -> None:
    dropped = np.array([0, 0, 2])  # 1 was dropped for 0; 2 is new and matches 1 only
    found = join_repository(np.arange(3), np.array([1]), np.array([2]), np.array([0.9]), dropped)
    assert found.tolist() == [0, 0, 2]
