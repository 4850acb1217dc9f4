"""`two-phase`: Gupta, Dixit and Sharma, page features and kth keyphrase fingerprints.

| in the paper | here |
|---|---|
| III.A, preprocessing: stop words, stems, counts | `TwoPhase.features` |
| III.B and table 1, level 1: a score from five features, A1 to A5 | `TwoPhase.level_one` |
| III.C, the fingerprint of every kth keyphrase | `every_kth`, `fingerprints` |
| III.D, bit by bit; fewer than the threshold differ: near duplicate | `TwoPhase.judge` |

Table 1 prints signed differences; here they are absolute. Its keyword similarity is read as the
occurrences, in both pages, of words that both have, over all occurrences (Dice): then WP1, WP2 and
WP3 score 4, 3 and 4, and a threshold of 4 passes the two pages that the paper goes on to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import (
    FeatureRows,
    Floats,
    Mask,
    booleans,
    lists_of,
    places_in_runs,
    ragged,
    string_buffers,
)
from neardup.config import option
from neardup.kernels.level_one import keyword_shares, level_one_pairs
from neardup.kernels.sentences import count_sentences
from neardup.methods.base import (
    AllPairsMethod,
    Numbers,
    PairFinder,
    PairVerdict,
    SurveyResults,
    key_batch,
    verdict_batch,
)
from neardup.model import Relation
from neardup.text.keywords import counted_hashes, keyword_languages, keywords, word_hashes
from neardup.text.views import View

COUNTS = ("tables", "images", "anchors", "sentences")
WIDTH = 16  # bits of a fingerprint


@dataclass(frozen=True, slots=True)
class TwoPhaseOptions:
    a1: int = option(2, "a point if the numbers of tables differ by less", minimum=0)
    a2: int = option(2, "a point if the numbers of images differ by less", minimum=0)
    a3: int = option(2, "a point if the numbers of anchors differ by less", minimum=0)
    a4: int = option(2, "a point if the numbers of sentences differ by less", minimum=0)
    a5: float = option(
        0.5, "a point if at least this share of all keywords is in both pages", minimum=0, maximum=1
    )
    score: int = option(4, "points, out of 5, required for level 2", minimum=0, maximum=5)
    k: int = option(6, "every kth keyphrase goes into the fingerprint", minimum=1)
    bits: int = option(3, "near pages differ in fewer bits than this", minimum=1, maximum=WIDTH)
    fingerprint: Literal["simhash", "ascii-sum"] = option(
        "simhash", "ascii-sum is the paper's, in which close sums may differ in many bits"
    )
    minimum_keyphrases: int = option(5, "pages with fewer kth keyphrases are undecided", minimum=1)
    maximum_pages: int = option(
        20_000, "refuse more pages than this, since every pair is compared", minimum=2
    )
    joining: Literal["components", "repository"] = option(
        "components", "how pairs become clusters; repository: each page against those kept so far"
    )


class TwoPhase(AllPairsMethod):
    """A cheap filter on page features, then fingerprints of the pages that pass."""

    name = "two-phase"
    paper = "Gupta, Dixit & Sharma: page features and kth keyphrase fingerprint"
    languages = "English and others with stop words; Chinese by word segmentation"
    cost = "all pairs at level 1"
    Options = TwoPhaseOptions
    options: TwoPhaseOptions
    paper_preset = {
        "fingerprint": "ascii-sum",
        "minimum_keyphrases": 1,
        "joining": "repository",
    }

    @property
    def feature_schema(self) -> pa.Schema:
        counts = [(name, pa.int32()) for name in COUNTS]
        words = [("keywords", pa.list_(pa.uint64())), ("frequencies", pa.list_(pa.int64()))]
        return pa.schema([*counts, *words, ("keyphrases", pa.list_(pa.string()))])

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        words = keywords(pages["text"], keyword_languages(pages), stem=True)
        columns = [pages[name] for name in COUNTS]
        if self.view is not View.WHOLE:  # such counts are mostly those of the template
            none = pa.array(np.zeros(pages.num_rows, np.int32))
            columns = [none, none, none, pa.array(count_sentences(*string_buffers(pages["text"])))]
        columns += [*counted_hashes(words), every_kth(words, self.options.k)]
        return pa.record_batch(columns, schema=self.feature_schema)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        keyphrases = pc.list_value_length(features.column("keyphrases"))
        return pc.greater_equal(keyphrases, self.options.minimum_keyphrases)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """The fingerprint in `bits` parts: near pages differ in fewer bits, so one part is equal.

        For pipelines that find candidates by keys; every page then needs its fingerprint.
        """
        rows = self.decidable_rows(features)
        marks = self._fingerprints(features.column("keyphrases").take(pa.array(rows)))
        parts = np.array_split(np.arange(WIDTH), self.options.bits)
        masks = np.array([np.sum(1 << part) for part in parts], np.uint64)
        numbers = np.arange(len(parts), dtype=np.uint64) << np.uint64(WIDTH)
        keys = marks.astype(np.uint64)[:, None] & masks | numbers
        return key_batch(np.repeat(rows, len(parts)), keys.ravel())

    def pair_finder(self, pages: pa.RecordBatch) -> PairFinder:
        """Pairs that pass both levels. Only pages that pass level 1 get a fingerprint."""
        counts, tables = np.ascontiguousarray(_counts(pages).T), _keyword_tables(pages)
        limits, options = self._limits(), self.options
        marks = np.zeros(pages.num_rows, np.uint16)
        marked = np.zeros(pages.num_rows, np.bool_)

        def find(first: int, last: int) -> tuple[Numbers, Numbers]:
            left, right = level_one_pairs(
                counts, limits, *tables, options.a5, options.score, first, last
            )
            fresh = np.setdiff1d(np.union1d(left, right), np.flatnonzero(marked))
            marks[fresh] = self._fingerprints(pages["keyphrases"].take(pa.array(fresh)))
            marked[fresh] = True
            near = np.bitwise_count(marks[left] ^ marks[right]) < options.bits
            return left[near], right[near]

        return find

    def _limits(self) -> Floats:
        return np.array(
            [self.options.a1, self.options.a2, self.options.a3, self.options.a4], np.float64
        )

    def _fingerprints(self, keyphrases: pa.ListArray) -> NDArray[np.uint16]:
        return fingerprints(keyphrases, self.options.fingerprint)

    def level_one(self, left: pa.RecordBatch, right: pa.RecordBatch) -> tuple[Numbers, Floats]:
        """Table 1: the score and the keyword similarity of each pair of rows."""
        near = np.abs(_counts(left) - _counts(right)) < self._limits()[:, None]
        tables = _keyword_tables(pa.concat_batches([left, right]))
        first = np.arange(left.num_rows)
        similarity = keyword_shares(*tables, first, first + left.num_rows)
        return near.sum(axis=0) + (similarity >= self.options.a5), similarity

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        enough = booleans(pc.and_(self.decidable(ours), self.decidable(theirs)))
        score, similarity = self.level_one(ours, theirs)
        passed = enough & (score >= self.options.score)
        marks = [self._marks(side, passed) for side in (ours, theirs)]
        differing = np.bitwise_count(marks[0] ^ marks[1]).astype(np.int64)
        columns = (enough, passed, differing, score, similarity, *marks)
        pairs = zip(*(column.tolist() for column in columns), strict=True)
        return verdict_batch(self._verdict(*pair) for pair in pairs)

    def _marks(self, side: pa.RecordBatch, passed: Mask) -> NDArray[np.uint16]:
        """The fingerprints of pages that passed level 1; 0 for the others."""
        marks = np.zeros(side.num_rows, np.uint16)
        marks[passed] = self._fingerprints(side["keyphrases"].filter(pa.array(passed)))
        return marks

    def _verdict(
        self,
        enough: bool,
        passed: bool,
        differing: int,
        score: int,
        keyword_similarity: float,
        left: int,
        right: int,
    ) -> PairVerdict:
        evidence = {"score": score, "keyword_similarity": round(keyword_similarity, 6)}
        if not enough:
            return Relation.UNDECIDED, None, {"why": "too few keyphrases to tell", **evidence}
        if not passed:
            why = f"level 1 score {score} of 5: not enough for level 2"
            return Relation.DIFFERENT, 0.0, {"why": why, **evidence}
        why = f"level 1 score {score} of 5; {differing} of {WIDTH} bits differ"
        marks = [f"{mark:0{WIDTH}b}" for mark in (left, right)]
        relation = Relation.NEAR if differing < self.options.bits else Relation.DIFFERENT
        bits = {"bits": differing, "fingerprints": marks}
        return relation, 1 - differing / WIDTH, {"why": why, **evidence, **bits}


def every_kth(words: pa.ListArray, k: int) -> pa.ListArray:
    """The kth, 2kth, 3kth ... word of each list."""
    rows = pc.list_parent_indices(words).to_numpy()
    chosen = (places_in_runs(rows) + 1) % k == 0
    return lists_of(rows[chosen], words.flatten().filter(pa.array(chosen)), len(words))


def fingerprints(keyphrases: pa.ListArray, kind: str) -> NDArray[np.uint16]:
    """A 16-bit number for each list of keyphrases."""
    rows = pc.list_parent_indices(keyphrases).to_numpy()
    return (ascii_sums if kind == "ascii-sum" else simhashes)(
        rows, keyphrases.flatten(), len(keyphrases)
    )


def ascii_sums(rows: Numbers, words: pa.Array, count: int) -> NDArray[np.uint16]:
    """III.C: the sum of the codes of the first characters, modulo 65,536."""
    first = pc.utf8_slice_codeunits(words, 0, 1).to_pylist()
    sums = np.zeros(count, np.int64)
    np.add.at(sums, rows, [ord(character) for character in first])
    wrapped: NDArray[np.uint16] = (sums % 2**WIDTH).astype(np.uint16)
    return wrapped


def simhashes(rows: Numbers, words: pa.Array, count: int) -> NDArray[np.uint16]:
    """Each bit is the majority of the words' hashes, so that close sets give close numbers."""
    places = np.arange(WIDTH)
    bits = (word_hashes(words)[:, None] >> places.astype(np.uint64)).astype(np.int64) & 1
    votes = np.zeros((count, WIDTH), np.int64)
    np.add.at(votes, rows, 2 * bits - 1)
    marks: NDArray[np.uint16] = ((votes > 0) << places).sum(axis=1).astype(np.uint16)
    return marks


def _counts(pages: pa.RecordBatch) -> NDArray[np.int32]:
    return np.stack([pages[name].to_numpy() for name in COUNTS])


def _keyword_tables(pages: pa.RecordBatch) -> tuple[NDArray[np.uint64], Numbers, Numbers]:
    """Keywords, frequencies and offsets, as the kernels take them."""
    words, offsets = ragged(pages["keywords"])
    return words, ragged(pages["frequencies"]).values, offsets
