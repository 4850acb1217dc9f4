"""`i-match`: one hash of the discriminating words, neither too common nor too rare.

Chowdhury, Frieder, Grossman & McCabe 2002, Collection statistics for fast duplicate document
detection; Kolcz & Chowdhury 2008, Lexicon randomization for near-duplicate detection with I-Match.

* Collection statistics: `survey` counts the pages with each word.
* The lexicon: words whose normalised idf, `log(N / df) / log(N)`, is within [low, high]. A
  word on every page has 0, a word on one page has 1.
* The signature: a hash of the page's distinct words within the lexicon. Pages with the same
  signature are duplicates. Order and repeats of words do not matter.
* Randomised lexicons (2008): K more lexicons, each without a random but reproducible share of the
  words. One common signature out of K + 1 is enough: the few words of an edit are outside some of
  the lexicons.

idf needs many pages: of two, a word is on one or on both. Below `minimum_pages` every word is in
the lexicon, and the evidence says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import Floats, Hashes, Mask, Number, Numbers, Ragged, fixed_lists
from neardup.config import option
from neardup.kernels.shingles import BASE, mix_all, sort_distinct
from neardup.methods.base import SharedKeys, key_batch
from neardup.methods.token_method import Comparison, TokenMethod, page_tokens
from neardup.schemas import COUNTS
from neardup.text.sites import Survey

NO_SIGNATURE = 0  # for pages with too few words


@dataclass(frozen=True, slots=True)
class IMatchOptions:
    low: float = option(0.1, "least normalised idf of a word in the lexicon", minimum=0, maximum=1)
    high: float = option(0.9, "most normalised idf of a word in the lexicon", minimum=0, maximum=1)
    lexicons: int = option(
        10,
        "randomised lexicons besides the main one (K); 0 is the paper of 2002",
        minimum=0,
        maximum=100,
    )
    removed: float = option(
        0.3, "share of words removed from a randomised lexicon", minimum=0.01, maximum=0.99
    )
    minimum_pages: int = option(10, "with fewer pages, every word is in the lexicon", minimum=1)
    minimum_terms: int = option(5, "signatures of fewer words are ignored", minimum=1)
    minimum_tokens: int = option(20, "pages with fewer tokens are undecided", minimum=1)


class IMatch(TokenMethod):
    """Hashes of the words within a lexicon."""

    name = "i-match"
    paper = "Chowdhury et al. 2002; Kolcz & Chowdhury 2008"
    cost = "linear, two passes over the pages"
    Options = IMatchOptions
    options: IMatchOptions
    paper_preset = {
        "lexicons": 0,
        "minimum_pages": 1,
        "minimum_terms": 1,
        "minimum_tokens": 1,
    }
    candidate_source = SharedKeys(decisive=True)

    @property
    def sketch_schema(self) -> pa.Schema:
        signatures = pa.list_(pa.uint64(), self._count)
        return pa.schema(
            [("terms", pa.int64()), ("every_word", pa.bool_()), ("signatures", signatures)]
        )

    def survey(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """The number of these pages with each word."""
        words, _ = sort_distinct(*page_tokens(pages.column("text")))
        keys, counts = np.unique(words, return_counts=True)
        return pa.record_batch([keys, counts.astype(np.int64)], schema=COUNTS)

    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        words = Ragged(*sort_distinct(*tokens))
        every_word, in_lexicon = True, np.ones(words.values.size, np.bool_)
        if survey is not None and survey.pages >= self.options.minimum_pages:
            nidf = normalised_idf(survey.count(words.values), survey.pages)
            every_word, in_lexicon = False, (nidf >= self.options.low) & (nidf <= self.options.high)
        signatures = [self._signatures(words, in_lexicon, which) for which in range(self._count)]
        return [
            pa.array(_sums(in_lexicon.astype(np.int64), words.offsets)),
            pa.array(np.full(len(pages), every_word)),
            pa.FixedSizeListArray.from_arrays(np.stack(signatures, axis=1).ravel(), self._count),
        ]

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        enough_terms = pc.greater_equal(features.column("terms"), self.options.minimum_terms)
        return pc.and_(super().decidable(features), enough_terms)

    def amounts(self, features: pa.RecordBatch) -> list[str]:
        terms = features["terms"].to_pylist()
        tokens = super().amounts(features)
        return [f"{a}, {b} in the lexicon" for a, b in zip(tokens, terms, strict=True)]

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        signatures = _signatures(features)[rows]
        present = signatures != NO_SIGNATURE
        return key_batch(np.repeat(rows, present.sum(axis=1)), signatures[present])

    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        ours, theirs = _signatures(left), _signatures(right)
        equal = ((ours == theirs) & (ours != NO_SIGNATURE)).sum(axis=1)
        terms = list(zip(left["terms"].to_pylist(), right["terms"].to_pylist(), strict=True))
        lexicon = [
            "every word is in the lexicon, as few pages tell no idf" if every else "by idf"
            for every in left["every_word"].to_pylist()
        ]
        rows = zip(equal.tolist(), terms, lexicon, strict=True)
        return Comparison(
            equal / self._count,
            equal > 0,
            [
                f"{same} of {self._count} signatures are equal, "
                f"of {ours} and {theirs} words in the lexicon ({how})"
                for same, (ours, theirs), how in rows
            ],
            {"equal_signatures": equal.tolist(), "lexicon_words": [list(each) for each in terms]},
        )

    @property
    def _count(self) -> int:
        return 1 + self.options.lexicons

    def _signatures(self, words: Ragged, in_lexicon: Mask, which: int) -> Hashes:
        """The signature of each page by lexicon `which`; 0 is the main one."""
        salt = np.uint64(which * int(BASE) % 2**64)
        if which:
            kept = mix_all(words.values + salt) >= np.uint64(self.options.removed * 2.0**64)
            in_lexicon = in_lexicon & kept
        hashes = np.where(in_lexicon, mix_all(words.values), np.uint64(0))
        enough = _sums(in_lexicon.astype(np.int64), words.offsets) >= self.options.minimum_terms
        signatures = mix_all(_sums(hashes, words.offsets) + salt)
        return np.where(enough, signatures, np.uint64(NO_SIGNATURE))


def normalised_idf(document_frequencies: Numbers, pages: int) -> Floats:
    """`log(N / df) / log(N)`: 0 for a word on every page, 1 for a word on one or on none."""
    if pages < 2:
        return np.ones(document_frequencies.size)
    idf = np.log(pages / np.maximum(document_frequencies, 1))
    return np.asarray(idf / np.log(pages))


def _sums(values: NDArray[Number], offsets: Numbers) -> NDArray[Number]:
    """The sum of each document's values; sums of hashes wrap around."""
    running = np.zeros(values.size + 1, values.dtype)
    np.cumsum(values, out=running[1:])
    sums: NDArray[Number] = running[offsets[1:]] - running[offsets[:-1]]
    return sums


def _signatures(features: pa.RecordBatch) -> Hashes:
    return fixed_lists(features["signatures"])
