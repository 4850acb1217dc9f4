"""`word-table`: Santha Sheela and Jaya Kumar, duplicates by a 2D table of words.

| in the paper | here |
|---|---|
| 3.A and B, no tags or stop words | `text.keywords` (no stems: sport and sports are two words) |
| 3.C, word frequencies | `word_tables` |
| 3.D, the table of 26 rows; row times column | `word_tables`, `letter_row` |
| 3.E, equations 3 to 14: SM | `kernels.word_table` |
| the four conditions | `WordTable.relations` |
| the threshold, "an average of more than hundred documents" | `average_measure` |

The average is over a sample of the run's pages, those whose ids have the smallest hashes. The
survey carries their tables to the features step, and the features of every page carry the average
to the judge. So the average depends on the pages, not on their order.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import FeatureRows, Floats, lists_of, places_in_runs, ragged
from neardup.config import option
from neardup.errors import UsageError
from neardup.kernels.word_table import close_pairs, measures
from neardup.methods.base import (
    AllPairsMethod,
    Numbers,
    PairFinder,
    PairVerdict,
    SurveyResults,
    Surveys,
    key_batch,
    verdict_batch,
)
from neardup.model import Relation
from neardup.schemas import COUNTS
from neardup.text.keywords import keyword_languages, keywords, word_hashes
from neardup.text.sites import Survey

COUNT_BITS = 24  # of a survey count: frequency in the low bits, position above
HALF = np.uint64(32)  # bits of a survey key: page hash above, word hash below


def sampled_tables(
    ids: pa.Array,
    tables: tuple[pa.ListArray, pa.ListArray, pa.ListArray],
    sample: int,
    minimum_words: int,
) -> pa.RecordBatch:
    """The tables of the pages whose ids have the smallest hashes, as survey counts."""
    marks = word_hashes(ids) >> HALF
    lengths = pc.list_value_length(tables[0]).to_numpy()
    enough = np.flatnonzero(lengths >= minimum_words)
    chosen = pa.array(enough[np.argsort(marks[enough], kind="stable")[:sample]])
    words, frequencies, positions = (table.take(chosen).flatten().to_numpy() for table in tables)
    owners = np.repeat(marks[chosen.to_numpy()], lengths[chosen.to_numpy()])
    keys = owners << HALF | words >> HALF
    counts = positions << COUNT_BITS | np.minimum(frequencies, 2**COUNT_BITS - 1)
    return pa.record_batch([keys, counts], schema=COUNTS)


def average_measure(survey: Survey, sample: int) -> float:
    """The average SM over all pairs of sampled pages; 0 without a pair."""
    owners = survey.keys >> HALF
    marks, starts = np.unique(owners, return_index=True)
    chosen = len(marks[:sample])
    offsets = np.append(starts, owners.size)[: chosen + 1].astype(np.int64)
    words = survey.keys & np.uint64(0xFFFFFFFF)
    frequencies, positions = survey.counts & 2**COUNT_BITS - 1, survey.counts >> COUNT_BITS
    left, right = np.triu_indices(chosen, 1)
    s1, s2, s3, _ = measures(words, frequencies, positions, offsets, left, right)
    sizes = np.diff(offsets)
    measured = (s1 + (s2 + s3)) / ((sizes[left] + sizes[right]) / 2)
    return float(measured.mean()) if measured.size else 0.0


ROWS = 26
NUMBER_ROW = 27


@dataclass(frozen=True, slots=True)
class WordTableOptions:
    close: float = option(15.0, "SM up to this is close: near", minimum=0.001)
    slight: float = option(50.0, "SM up to this is slight: an overlap", minimum=0.001)
    bound: Literal["printed", "average"] = option(
        "printed",
        "average: near is below the average SM over a sample of the pages",
        was="threshold",
    )
    sample: int = option(128, "pages in the sample for the average", minimum=2)
    minimum_share: float = option(
        0.5,
        "least share of common words among all of both pages: SM ignores words that occur once",
        minimum=0,
        maximum=1,
    )
    minimum_words: int = option(10, "pages with fewer distinct words are undecided", minimum=1)
    slight_pairs: bool = option(False, "also report pairs that are only slightly similar")
    maximum_pages: int = option(
        20_000, "refuse more pages than this, since every pair is compared", minimum=2
    )
    joining: Literal["components", "repository"] = option(
        "components", "how pairs become clusters; repository: each page against those kept so far"
    )


class WordTable(AllPairsMethod):
    """Compares positions and frequencies of the words of two pages."""

    name = "word-table"
    paper = "Santha Sheela & Jaya Kumar: 2D word table"
    languages = "English; others with stop words, with their own rows for letters beyond a-z"
    cost = "all pairs"
    Options = WordTableOptions
    options: WordTableOptions
    paper_preset = {
        "minimum_share": 0.0,
        "minimum_words": 1,
        "joining": "repository",
    }

    @property
    def surveys(self) -> Surveys | None:
        return self if self.options.bound == "average" else None

    feature_schema = pa.schema(
        [
            ("words", pa.list_(pa.uint64())),
            ("frequencies", pa.list_(pa.int64())),
            ("positions", pa.list_(pa.int64())),
            ("average", pa.float64()),
        ]
    )

    def survey(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """The tables of the sample, as far as this batch has a part in it."""
        return sampled_tables(
            pages["id"], self._tables(pages), self.options.sample, self.options.minimum_words
        )

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        average = pa.array([self._average(surveyed.corpus)] * pages.num_rows, pa.float64())
        return pa.record_batch([*self._tables(pages), average], schema=self.feature_schema)

    def _tables(self, pages: pa.RecordBatch) -> tuple[pa.ListArray, pa.ListArray, pa.ListArray]:
        return word_tables(keywords(pages["text"], keyword_languages(pages)))

    def _average(self, survey: Survey | None) -> float | None:
        if self.options.bound == "printed":
            return None
        if survey is None:
            raise UsageError("bound=average of word-table needs a survey of all pages")
        return average_measure(survey, self.options.sample)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        count = pc.list_value_length(features.column("words"))
        return pc.greater_equal(count, self.options.minimum_words)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """One key for all: SM has no part that two close pages must share."""
        rows = self.decidable_rows(features)
        return key_batch(rows, np.zeros(rows.size, np.uint64))

    def pair_finder(self, pages: pa.RecordBatch) -> PairFinder:
        """Close pairs, and slight ones if the option says so."""
        tables, most, share = flat_tables(pages), self._most(pages), self.options.minimum_share
        return lambda first, last: close_pairs(*tables, most, share, first, last)

    def _most(self, pages: pa.RecordBatch) -> float:
        """The largest SM of a candidate."""
        most = self.options.close
        if self.options.bound == "average":
            most = pc.max(pages["average"]).as_py() or 0.0
        return max(most, self.options.slight) if self.options.slight_pairs else most

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        both, first = rows.take(np.concatenate([left, right])), np.arange(left.size)
        s1, s2, s3, common = measures(*flat_tables(both), first, first + left.size)
        n, m = ragged(both["words"]).sizes.reshape(2, -1)
        measured = (s1 + (s2 + s3)) / np.maximum((n + m) / 2, 1)
        share = common / np.maximum(n + m - common, 1)
        enough = np.minimum(n, m) >= self.options.minimum_words
        average = both["average"].slice(0, left.size).to_numpy(zero_copy_only=False)
        average = average.astype(np.float64)
        relations = self.relations(measured, share, average)
        columns = (enough, measured, share, common, n, m, average)
        pairs = zip(relations, *(column.tolist() for column in columns), strict=True)
        return verdict_batch(self._verdict(*pair) for pair in pairs)

    def relations(self, measured: Floats, share: Floats, average: Floats) -> list[Relation]:
        """The four conditions, after the guard: pages with too few common words are different."""
        mirror = measured == 0
        if self.options.minimum_share:
            mirror &= share == 1
        if self.options.bound == "average":
            close = (measured == 0) | (measured < average)
        else:
            close = measured <= self.options.close
        conditions = [
            share < self.options.minimum_share,
            mirror,
            close,
            measured <= self.options.slight,
        ]
        names = np.select(conditions, ["different", "same", "near", "overlap"], "different")
        return [Relation(name) for name in names.tolist()]

    def _verdict(
        self,
        relation: Relation,
        enough: bool,
        measured: float,
        share: float,
        common: int,
        n: int,
        m: int,
        average: float,
    ) -> PairVerdict:
        evidence: dict[str, object] = {"words": [n, m], "common": common}
        if not enough:
            why = f"too few words to tell: {min(n, m)}"
            return Relation.UNDECIDED, None, {"why": why, **evidence}
        evidence |= {"sm": round(measured, 6), "share": round(share, 6)}
        similarity = self.options.close / (self.options.close + measured)
        why = f"SM {measured:.2f}; {common} of {n + m - common} words in common"
        if share < self.options.minimum_share:
            similarity = min(similarity, share)
            why += ", too few to tell by SM"
        if self.options.bound == "average":
            why += f"; the average SM is {average:.2f}"
            evidence |= {"average": round(average, 6)}
        return relation, similarity, {"why": why, **evidence}


def word_tables(words: pa.ListArray) -> tuple[pa.ListArray, pa.ListArray, pa.ListArray]:
    """The table of each page's keywords: word hashes in ascending order, frequencies, positions."""
    encoded = words.flatten().dictionary_encode()
    vocabulary = encoded.dictionary
    ranks = np.empty(len(vocabulary), np.int64)
    ranks[pc.array_sort_indices(vocabulary).to_numpy()] = np.arange(len(vocabulary))
    kinds = [letter_row(word) for word in pc.utf8_slice_codeunits(vocabulary, 0, 1).to_pylist()]
    row_of = np.array([row for _, row in kinds], np.int64)
    group_of = np.array([group for group, _ in kinds], np.int64)

    pages = pc.list_parent_indices(words).to_numpy()
    codes = encoded.indices.to_numpy()
    entries, frequencies = np.unique(pages << 32 | codes, return_counts=True)
    pages, codes = entries >> 32, entries & 0xFFFFFFFF
    order = np.lexsort((ranks[codes], row_of[codes], group_of[codes], pages))
    pages, codes, frequencies = pages[order], codes[order], frequencies[order]
    table_rows = pages * 1024 + group_of[codes] * 32 + row_of[codes]
    positions = row_of[codes] * (places_in_runs(table_rows) + 1)

    hashes = word_hashes(vocabulary)[codes]
    order = np.lexsort((hashes, pages))
    columns = (hashes, frequencies.astype(np.int64), positions)
    hashed, counted, placed = (
        lists_of(pages[order], pa.array(each[order]), len(words)) for each in columns
    )
    return hashed, counted, placed


@cache
def letter_row(letter: str) -> tuple[int, int]:
    """`(group, row)` of the words that begin with a letter; columns count within both.

    a to z, also with accents: group 0, rows 1 to 26. Digits: group 1, row 27. Any other letter:
    group 2, row 1 + code point mod 26, which spreads words over as many rows as in English and so
    keeps the scale of SM.
    """
    base = unicodedata.normalize("NFD", letter)[0]
    if "a" <= base <= "z":
        return 0, ord(base) - ord("a") + 1
    if base.isdecimal():
        return 1, NUMBER_ROW
    return 2, 1 + ord(letter) % ROWS


def flat_tables(pages: pa.RecordBatch) -> tuple[NDArray[np.uint64], Numbers, Numbers, Numbers]:
    """Words, frequencies, positions and offsets, as the kernels take them."""
    words, offsets = ragged(pages["words"])
    frequencies, positions = (ragged(pages[name]).values for name in ("frequencies", "positions"))
    return words, frequencies, positions, offsets
