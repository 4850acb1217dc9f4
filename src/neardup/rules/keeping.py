"""Which page of a cluster is kept.

A policy orders the members of a cluster; the first is kept. What a policy leaves open is decided
by the id, so the choice never depends on the order of input. Pages are numbered in the order of
their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import Floats, Mask, Numbers, booleans
from neardup.errors import UsageError, unknown
from neardup.pages.urls import canonicalise
from neardup.rules.candidates import REACH
from neardup.text.metadata import canonical_urls

DEFAULT_POLICY = "original"
SIMILARITY_UNITS = 1_000_000  # similarities are summed as integers, which is exact in any order
AS_IF_CONTAINED = 0.98  # of the similarity that a contained text would have: words are not letters
POLICY_COLUMNS = ["length", "time", "observed", "url", "canonical_url"]  # that policies look at
BY_RULE = "rule"  # instead of a policy: the method's own rule decides
Order = Floats | Numbers


class JudgedPairs(NamedTuple):
    """Pairs of pages and their similarity, NaN if there is none."""

    left: Numbers
    right: Numbers
    similarities: Floats

    def where(self, chosen: Mask) -> JudgedPairs:
        """Some of the pairs."""
        return JudgedPairs(self.left[chosen], self.right[chosen], self.similarities[chosen])


NO_PAIRS = JudgedPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def choose_kept(
    policy: str, pages: pa.Table, labels: Numbers, pairs: JudgedPairs = NO_PAIRS
) -> Numbers:
    """For each page the page that its cluster keeps.

    `labels` names each page's cluster by its smallest member; `pages` has `POLICY_COLUMNS`, in the
    order of ids.
    """
    orders = policy_order(policy)(pages, labels, pairs)
    crowded = np.flatnonzero(np.bincount(labels, minlength=labels.size)[labels] > 1)
    cluster = labels[crowded]
    # Stable: equal ones stay in the order of ids.
    best_first = np.lexsort((*(order[crowded] for order in reversed(orders)), cluster))
    heads = best_first[np.flatnonzero(np.diff(cluster[best_first], prepend=-1))]
    kept = np.arange(labels.size)
    kept[cluster[heads]] = crowded[heads]
    return kept[labels]


def keep_policy(requested: str | None, *, by_rule: bool) -> str:
    """The policy of a run; none may be given if the method's own rule decides."""
    if not by_rule:
        policy = requested or DEFAULT_POLICY
        policy_order(policy)  # reject a bad name before any work
        return policy
    if requested not in (None, BY_RULE):
        raise UsageError(
            "with joining=repository the rule decides which page is kept: omit "
            f"keep={requested}, or set joining=components"
        )
    return BY_RULE


Policy = Callable[[pa.Table, Numbers, JudgedPairs], Sequence[Order]]


def policy_order(policy: str) -> Policy:
    """The policy of that name, or an error that lists them.

    A policy gives numbers by which the best page of a cluster comes first, the decisive ones first.
    """
    try:
        return POLICIES[policy]
    except KeyError:
        raise unknown("keep policy", policy, POLICIES) from None


def _original(pages: pa.Table, labels: Numbers, pairs: JudgedPairs) -> Sequence[Order]:
    """The page the others come from, as far as can be known; docs/keeping.md gives the reasons."""
    together = labels[pairs.left] == labels[pairs.right]
    left, right = pairs.left[together], pairs.right[together]
    similarities = np.nan_to_num(pairs.similarities[together])
    observed = pc.if_else(pages["observed"], pages["time"], None)
    lengths = pages["length"].to_numpy()
    return (
        -_named_by_others(pages, labels),
        _seconds(observed, missing=np.inf),
        -_mean_similarities(labels, left, right, similarities),
        -_credited_lengths(lengths, left, right, similarities),
        lengths,
    )


def _named_by_others(pages: pa.Table, labels: Numbers) -> Numbers:
    """How many others in its cluster name a page as canonical; a page that names another has 0."""
    votes = np.zeros(labels.size, np.int64)
    several = np.flatnonzero(np.bincount(labels, minlength=labels.size)[labels] > 1)
    names = pages["canonical_url"].take(pa.array(several)).combine_chunks()
    targets = names.dictionary_encode().indices.to_numpy()
    in_cluster = labels[several] * (several.size + 1) + targets
    _, group, sizes = np.unique(in_cluster, return_inverse=True, return_counts=True)
    is_shared = (sizes[group] > 1) & booleans(pc.not_equal(names, ""))
    shared, group = several[is_shared], group[is_shared]
    rows = pa.array(shared)
    urls, named = (pages[name].take(rows).combine_chunks() for name in ("url", "canonical_url"))
    is_target = booleans(pc.equal(canonical_urls(urls)[0], named))
    voters = np.bincount(group, ~is_target, minlength=sizes.size)
    votes[shared] = np.where(is_target, voters[group], 0)
    return votes


def _mean_similarities(
    labels: Numbers, left: Numbers, right: Numbers, similarities: Floats
) -> Numbers:
    """The mean similarity of each page to the others of its cluster, in thousandths.

    A pair that was not judged counts as 0, up to as many as are judged in any case: a page that
    resembles a single other page exactly is not closer to the cluster than one that resembles all.
    """
    units = np.rint(similarities * SIMILARITY_UNITS)
    count = labels.size
    total = np.bincount(left, units, count) + np.bincount(right, units, count)
    judged = np.bincount(left, minlength=count) + np.bincount(right, minlength=count)
    others = np.bincount(labels, minlength=count)[labels] - 1
    divisor = np.maximum(np.maximum(judged, np.minimum(others, REACH)), 1)
    means: Numbers = total.astype(np.int64) // divisor // (SIMILARITY_UNITS // 1000)
    return means


def _credited_lengths(
    lengths: Numbers, left: Numbers, right: Numbers, similarities: Floats
) -> Numbers:
    """The length of each page; of one that adds up to a tenth to another's text, the other's.

    Text is taken to be contained if the pages are as similar as they would be then: the share of
    the shorter in the longer.
    """
    right_is_longer = lengths[right] > lengths[left]
    shorter, longer = (
        np.where(right_is_longer, *sides) for sides in ((left, right), (right, left))
    )
    adds_little = (10 * lengths[longer] <= 11 * lengths[shorter]) & (
        similarities * lengths[longer] >= AS_IF_CONTAINED * lengths[shorter]
    )
    credited = lengths.copy()
    np.minimum.at(credited, longer[adds_little], lengths[shorter[adds_little]])
    return credited


def _longest(pages: pa.Table, _: Numbers, __: JudgedPairs) -> Sequence[Order]:
    return (-pages["length"].to_numpy(),)


def _first(_: pa.Table, __: Numbers, ___: JudgedPairs) -> Sequence[Order]:
    return ()  # all are equal


def _newest(pages: pa.Table, _: Numbers, __: JudgedPairs) -> Sequence[Order]:
    return (-_seconds(pages["time"], missing=-np.inf),)


def _oldest(pages: pa.Table, _: Numbers, __: JudgedPairs) -> Sequence[Order]:
    return (_seconds(pages["time"], missing=np.inf),)


def _seconds(times: pa.ChunkedArray, missing: float) -> Floats:
    micros = times.cast(pa.int64()).cast(pa.float64())
    return np.asarray(pc.fill_null(micros, missing).to_numpy(), np.float64)


def _canonical(pages: pa.Table, labels: Numbers, _: JudgedPairs) -> Sequence[Order]:
    """The page whose URL most members name as canonical, then the shortest URL."""
    order = np.zeros(pages.num_rows)
    crowded = np.flatnonzero(np.bincount(labels, minlength=labels.size)[labels] > 1)
    urls = pages["url"].take(pa.array(crowded)).to_pylist()
    named = pages["canonical_url"].take(pa.array(crowded)).to_pylist()
    members = list(zip(labels[crowded].tolist(), urls, named, strict=True))
    votes = Counter((label, target) for label, _, target in members if target)
    for row, (label, url, _) in zip(crowded, members, strict=True):
        wins = votes[label, canonicalise(url)] if url else -1
        order[row] = -wins * 1e6 + min(len(url), 999_999)
    return (order,)


POLICIES: Mapping[str, Policy] = {
    "original": _original,
    "longest": _longest,  # the most text
    "first": _first,  # the smallest id
    "newest": _newest,  # pages without a time last
    "oldest": _oldest,
    "canonical": _canonical,
}
