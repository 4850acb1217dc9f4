"""`edit-distance`: An and Cheng, Chinese duplicate pages by edit distance.

| in the paper | here |
|---|---|
| IV.B, the feature string: the character before each full stop | `feature_strings` |
| definition 1, the minimum edit distance | rapidfuzz's `Levenshtein.distance` |
| definition 2, `LCC = m - edit(Sour, Dest)` | `largest_common_count` |
| definition 3, `OverlapFactor_i = LCC / length_i` | `EditDistance.judge` |
| definition 4, alpha, beta, and epsilon for two pages of one site | `EditDistance.least_overlap` |
| VI, comparing all pairs | `EditDistance.search`, without comparing them all |

The filters of `search` and `keys` lose no pair. LCC counts characters that stay in place, so it is
at most the size of the multiset intersection of the two strings, and that is at most the length n
of the shorter one. This bounds both overlap factors before any distance is computed;
`kernels.set_join` says why prefixes are enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from neardup.arrays import FeatureRows, Floats, Mask, booleans, places_in_runs, string_buffers
from neardup.config import option
from neardup.kernels.sentence_ends import han_before_stops, last_words
from neardup.kernels.set_join import least_common, overlap_join
from neardup.methods.base import (
    Method,
    Numbers,
    OwnSearch,
    PairVerdict,
    SurveyResults,
    key_batch,
    pair_batch,
    verdict_batch,
)
from neardup.model import Relation
from neardup.pages.urls import site
from neardup.text.tokens import fold_batch
from neardup.text.views import View

GOLDEN = 0x9E3779B97F4A7C15  # spreads band numbers over 64 bits
# A word is one symbol of the feature string: a code point of the private planes 15 and 16.
PRIVATE_PLANES = 0xF0000
PRIVATE_SYMBOLS = 0x20000


@dataclass(frozen=True, slots=True)
class EditDistanceOptions:
    alpha: float = option(
        0.8, "least overlap factor of the shorter feature string", minimum=0.01, maximum=1
    )
    beta: float = option(
        0.7,
        "least overlap factor of the longer string; from alpha on, alpha decides nothing",
        minimum=0,
        maximum=1,
    )
    epsilon: float = option(
        0.2,
        "added to alpha (up to 1) if both pages are on one host or site, where pages share noise",
        minimum=0,
        maximum=1,
    )
    scope: Literal["host", "site"] = option(
        "host", "which pages share noise: those of one host, or of one site (the paper's)"
    )
    minimum_length: int = option(
        5, "pages with a shorter feature string are undecided: it could match by chance", minimum=1
    )
    words: bool = option(
        True, "for pages not in Chinese, use the last word of each sentence as a symbol"
    )
    fold: bool = option(True, "ignore letter case and traditional or simplified form")
    contained: bool = option(
        False, "also look for pages inside longer ones (slower: lengths no longer filter)"
    )
    joining: Literal["components", "repository"] = option(
        "components", "how pairs become clusters; repository: each page against those kept so far"
    )


class EditDistance(Method):
    """Feature strings from sentence ends, compared by edit distance."""

    name = "edit-distance"
    paper = "An & Cheng: Chinese duplicate pages by edit distance"
    languages = "Chinese; other languages by the last words of sentences"
    cost = "all pairs that pass the filters; near linear if few pages are alike"
    Options = EditDistanceOptions
    options: EditDistanceOptions
    paper_preset = {
        "beta": 0.8,
        "scope": "site",
        "minimum_length": 1,
        "words": False,
        "joining": "repository",
    }
    default_view = View.OWN
    paper_view = View.WHOLE
    candidate_source = OwnSearch()
    feature_schema = pa.schema(
        [("symbols", pa.string()), ("length", pa.int64()), ("site", pa.string())]
    )

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        chinese = booleans(pc.equal(pages.column("script"), "Hani"))
        strings = np.full(pages.num_rows, "", object)
        for rows, words in ((chinese, False), (~chinese, True)):
            if self.options.words or not words:
                texts = pages.column("text").filter(pa.array(rows))
                strings[rows] = feature_strings(texts, words=words, fold=self.options.fold)
        symbols = pa.array(strings, pa.string())
        lengths = pc.utf8_length(symbols).cast(pa.int64())
        sites = _sites(pages["host"]) if self.options.scope == "site" else pages["host"]
        return pa.record_batch([symbols, lengths, sites], schema=self.feature_schema)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(features.column("length"), self.options.minimum_length)

    def least_overlap(self, same_site: Mask) -> Floats:
        """The alpha of each pair: raised by epsilon if both pages are on one site."""
        raised = min(1.0, round(self.options.alpha + self.options.epsilon, 12))
        return np.where(same_site, raised, self.options.alpha)

    @property
    def _beta(self) -> float:
        return 0.0 if self.options.contained else self.options.beta

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """Prefixes of the feature strings as multisets, one key for each band of lengths.

        Any two strings that can be duplicates share a key.
        """
        rows = self.decidable_rows(features)
        strings = features.column("symbols").take(pa.array(rows)).to_pylist()
        keys = [prefix_keys(string, self._beta) for string in strings]
        counts = [len(each) for each in keys]
        flat = np.array([key for each in keys for key in each], np.uint64)
        return key_batch(np.repeat(rows, counts), flat)

    def search(self, features: pa.Table) -> pa.RecordBatch:
        """All duplicate pairs, and contained ones if the option says so, each once."""
        rows = self.decidable_rows(features)
        length = features.column("length").to_numpy()[rows]
        rows = rows[np.argsort(length, kind="stable")]  # shortest first
        strings = features.column("symbols").take(pa.array(rows))
        members, offsets = ranked_members(strings.to_pylist())
        sour, dest = overlap_join(members, offsets, self.options.alpha, self._beta)
        chosen = self._verified(features, rows[sour], rows[dest])
        pairs = np.sort(np.column_stack((rows[sour], rows[dest]))[chosen], axis=1)
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return pair_batch(pairs[:, 0].copy(), pairs[:, 1].copy())

    def _verified(self, features: pa.Table, sour: Numbers, dest: Numbers) -> Mask:
        """Which pairs satisfy definition 4. Distances are cut off where they cannot."""
        columns = features.select(self.feature_schema.names)
        ours, theirs = (columns.take(pa.array(rows)) for rows in (sour, dest))
        lcc = largest_common_count(ours["symbols"], theirs["symbols"], least_share=self._beta)
        alpha = self.least_overlap(_same_site(ours, theirs))
        n, m = ours["length"].to_numpy(), theirs["length"].to_numpy()
        passed: Mask = (lcc / n >= alpha) & (lcc / m >= self._beta)
        return passed

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        lengths = np.stack([side.column("length").to_numpy() for side in (ours, theirs)])
        enough = (lengths >= self.options.minimum_length).all(axis=0)
        n, m = lengths.min(axis=0), lengths.max(axis=0)
        lcc = largest_common_count(ours.column("symbols"), theirs.column("symbols"))
        same_site = _same_site(ours, theirs)
        alpha = self.least_overlap(same_site)
        sour, dest = lcc / np.maximum(n, 1), lcc / np.maximum(m, 1)  # definition 3
        near = (sour >= alpha) & (dest >= self.options.beta)  # definition 4
        inside = (sour >= alpha) & ~near
        relations = np.select(
            [
                ~enough,
                near & (dest == 1),
                near,
                inside & (lengths[0] < m),
                inside & (n < m),
                inside,
            ],
            ["undecided", "same", "near", "contained", "contains", "overlap"],
            "different",
        )
        columns = (relations, n, m, lcc, sour, dest, alpha, same_site)
        pairs = zip(*(each.tolist() for each in columns), strict=True)
        return verdict_batch(self._verdict(*pair) for pair in pairs)

    def _verdict(
        self,
        name: str,
        n: int,
        m: int,
        lcc: int,
        sour: float,
        dest: float,
        alpha: float,
        same_site: bool,
    ) -> PairVerdict:
        relation = Relation(name)
        if relation is Relation.UNDECIDED:
            why = f"too few sentence ends to tell: {n}"
            return relation, None, {"why": why, "lengths": [n, m]}
        where = f" on one {self.options.scope}" if same_site else ""
        why = (
            f"{lcc} sentence ends in common: {sour:.2f} of the shorter page's {n} "
            f"(needs {alpha:.2f}{where}), {dest:.2f} of the longer one's {m} "
            f"(needs {self.options.beta:.2f})"
        )
        evidence = {
            "why": why,
            "lengths": [n, m],
            "lcc": lcc,
            "overlap_sour": round(sour, 6),
            "overlap_dest": round(dest, 6),
            f"same_{self.options.scope}": same_site,
        }
        return relation, dest, evidence


def feature_strings(texts: pa.Array, *, words: bool = False, fold: bool = False) -> list[str]:
    """IV.B: one symbol for each full stop, in page order.

    The symbol is the Han character before it. With `words` it is the last word of the sentence; a
    word of several letters is hashed to a private code point.
    """
    data, offsets = string_buffers(texts)
    starts, ends, places = (last_words if words else han_before_stops)(data, offsets)
    view = data.data
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    units = pa.array([str(view[start:end], "utf-8") for start, end in spans], pa.string())
    symbols = _symbols(fold_batch(units) if fold else units)
    pages = np.split(symbols.astype("<u4"), places[1:-1])[: len(places) - 1]
    return [page.tobytes().decode("utf-32-le") for page in pages]


def _symbols(words: pa.Array) -> NDArray[np.uint32]:
    encoded = words.dictionary_encode()
    distinct = np.array([_symbol(word) for word in encoded.dictionary.to_pylist()], np.uint32)
    symbols: NDArray[np.uint32] = distinct[encoded.indices.to_numpy()]
    return symbols


def _symbol(word: str) -> int:
    if len(word) == 1:
        return ord(word)
    return PRIVATE_PLANES + xxhash.xxh3_64_intdigest(word.encode()) % PRIVATE_SYMBOLS


def largest_common_count(one: pa.Array, two: pa.Array, least_share: float = 0) -> Numbers:
    """Definition 2: LCC of each pair of strings; 0 if it is below `least_share` of the longer.

    rapidfuzz's normalised similarity is LCC over the longer length, so the share is its cut-off,
    set slightly lower because the caller does the exact comparison.
    """
    lengths = [pc.utf8_length(side).to_numpy() for side in (one, two)]
    shares = process.cpdist(
        one.to_pylist(),
        two.to_pylist(),
        scorer=Levenshtein.normalized_similarity,
        score_cutoff=max(0.0, least_share - 1e-6),
        dtype=np.float64,
    )
    counts: Numbers = np.rint(shares * np.maximum(*lengths)).astype(np.int64)
    return counts


def _sites(hosts: pa.Array) -> pa.Array:
    """The site of each host: the paper's "Web site domain name", one for news and sports."""
    encoded = hosts.dictionary_encode()
    sites = pa.array([site(host) for host in encoded.dictionary.to_pylist()], pa.string())
    return sites.take(encoded.indices)


def _same_site(ours: pa.RecordBatch | pa.Table, theirs: pa.RecordBatch | pa.Table) -> Mask:
    """Whether two pages are on one site; a page without a host is not."""
    one, two = ours["site"], theirs["site"]
    return booleans(pc.and_(pc.equal(one, two), pc.not_equal(one, "")))


def prefix_keys(string: str, beta: float) -> list[int]:
    """Keys such that two strings share one if their LCC can reach `beta` of the longer one."""
    members = sorted(xxhash.xxh3_64_intdigest(each.encode()) for each in numbered(string))
    prefix = members[: len(members) - least_common(len(members), beta) + 1]
    bands = length_bands(len(string), beta)
    return [(member + band * GOLDEN) % 2**64 for band in bands for member in prefix]


def ranked_members(strings: Sequence[str]) -> tuple[Numbers, Numbers]:
    """`(members, offsets)` for the overlap join: each occurrence its own number, rarest first."""
    lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    codes = np.frombuffer("".join(strings).encode("utf-32-le"), np.uint32).astype(np.int64)
    owners = np.repeat(np.arange(len(strings)), lengths)
    sorted_by_code = np.sort(owners << 21 | codes)  # code points have 21 bits
    nth = places_in_runs(sorted_by_code)  # 0 for the first occurrence in a string
    _, kinds, counts = np.unique(
        nth << 21 | sorted_by_code & 0x1FFFFF, return_inverse=True, return_counts=True
    )
    rank = np.empty(counts.size, np.int64)
    rank[np.argsort(counts, kind="stable")] = np.arange(counts.size)
    members = np.sort(owners << 32 | rank[kinds]) & 0xFFFFFFFF
    return members, offsets


def numbered(string: str) -> list[str]:
    """The symbols of a string as a set: its second `a` is a different member from its first."""
    seen: dict[str, int] = {}
    members = []
    for symbol in string:
        seen[symbol] = nth = seen.get(symbol, 0) + 1
        members.append(f"{symbol}{nth}")
    return members


def length_bands(length: int, beta: float) -> tuple[int, ...]:
    """Two bands of lengths; two strings with `n / m >= beta` always share one.

    A band ends where a string is too long to match the shortest in it, so every string long
    enough to match is in the same band or the next.
    """
    if beta == 0:
        return (0,)
    band, edge = 0, _next_edge(1, beta)
    while length >= edge:
        band, edge = band + 1, _next_edge(edge, beta)
    return (band, band + 1)


@cache
def _next_edge(shortest: int, beta: float) -> int:
    """The smallest length m with `shortest / m < beta`."""
    edge = max(shortest + 1, math.floor(shortest / beta) - 1)
    while shortest / edge >= beta:
        edge += 1
    return edge
