"""What the methods that work on tokens share: the text they read and how a verdict is worded.

They read the text of all lines of their view, folded, as tokens (words for scripts with spaces,
characters for Han, Kana and Thai). A method adds its `sketch` of them and compares sketches. Pages
with the same tokens in the same order are `same`, whatever the sketch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import FeatureRows, Floats, Mask, Ragged, booleans, ragged, string_buffers
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.set_join import candidate_pairs, prefixes
from neardup.kernels.shingles import common_counts, document_hashes
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
from neardup.text.sites import Survey
from neardup.text.views import View

HASHES = pa.large_list(pa.uint64())


@dataclass(frozen=True)
class Comparison:
    """How near the sketches of each pair are; every column has one value per pair."""

    similarities: Floats
    near: Mask
    why: Sequence[str]
    numbers: Mapping[str, Sequence[object]] = field(default_factory=dict)


class TokenMethod(Method):
    """A method that compares sketches of a page's tokens."""

    languages = "all: words of spaced scripts, characters of Han, Kana and Thai"
    default_view = View.OWN  # better than whole pages for each of them (docs/methods/results.md)
    paper_view = View.WHOLE

    @property
    @abstractmethod
    def sketch_schema(self) -> pa.Schema:
        """The columns of the method's own."""

    @abstractmethod
    def sketch(
        self, tokens: Ragged, pages: pa.RecordBatch, survey: Survey | None
    ) -> list[pa.Array]:
        """The method's own columns, from the tokens of each page."""

    @abstractmethod
    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        """How near the rows of two feature batches are."""

    @property
    def feature_schema(self) -> pa.Schema:
        return pa.schema([("digest", pa.uint64()), ("tokens", pa.int64()), *self.sketch_schema])

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        tokens = page_tokens(pages.column("text"))
        columns = [
            document_hashes(*tokens),
            tokens.sizes,
            *self.sketch(tokens, pages, surveyed.corpus),
        ]
        return pa.record_batch(columns, schema=self.feature_schema)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(features.column("tokens"), self.options.minimum_tokens)

    def amounts(self, features: pa.RecordBatch) -> list[str]:
        """How much text each page has, in words: evidence for pages that have too little."""
        return [count_of(tokens, "token") for tokens in features["tokens"].to_pylist()]

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        enough = pc.and_(self.decidable(ours), self.decidable(theirs)).to_pylist()
        same = pc.and_(
            pc.equal(ours.column("digest"), theirs.column("digest")),
            pc.equal(ours.column("tokens"), theirs.column("tokens")),
        ).to_pylist()
        compared = self.compare(ours, theirs)
        tokens = zip(ours["tokens"].to_pylist(), theirs["tokens"].to_pylist(), strict=True)
        amounts = zip(self.amounts(ours), self.amounts(theirs), strict=True)
        numbers = (
            {name: values[row] for name, values in compared.numbers.items()}
            for row in range(len(enough))
        )
        near, similarities = compared.near.tolist(), compared.similarities.tolist()
        columns = (enough, same, tokens, amounts, near, similarities, compared.why, numbers)
        return verdict_batch(_verdict(*pair) for pair in zip(*columns, strict=True))


class SetMethod(TokenMethod):
    """A method whose sketch is a set of hashes per page, compared by the share in common.

    Pages of very different size cannot reach the threshold, nor can pages without a common rare
    member. So neither the prefixes nor the search lose a pair (`kernels.set_join`).
    """

    column: ClassVar[str]  # that holds the sets

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The least share of common members of near pages."""

    @property
    @abstractmethod
    def member_words(self) -> str:
        """What a set has as members, in words."""

    candidate_source = OwnSearch()

    @property
    def sketch_schema(self) -> pa.Schema:
        return pa.schema([(self.column, HASHES)])

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        """The prefix of each page's set that a near page cannot be without."""
        enough = booleans(self.decidable(features))
        return key_batch(*prefixes(*ragged(features[self.column]), enough, self.threshold))

    def search(self, features: pa.Table) -> pa.RecordBatch:
        """Pairs that may reach the threshold: no pair that does is missing."""
        rows = self.decidable_rows(features)
        sets = ragged(features[self.column].take(pa.array(rows)))
        left, right = candidate_pairs(*sets, self.threshold)
        return pair_batch(rows[left], rows[right])

    def compare(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Comparison:
        sets = left[self.column], right[self.column]
        return compare_sets(*sets, self.threshold, self.column, self.member_words)


def count_of(count: int, what: str) -> str:
    """A number of things in words."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def page_tokens(texts: pa.Array) -> Ragged:
    """The tokens of each text, folded, as hashes."""
    return Ragged(*folded_token_hashes(*string_buffers(texts)))


def compare_sets(
    left: pa.Array, right: pa.Array, threshold: float, column: str, what: str
) -> Comparison:
    """Pairs of sets, near if the share of common members among all of both reaches `threshold`.

    `column` names the numbers of the evidence, `what` the members in its words.
    """
    ours, theirs = ragged(left), ragged(right)
    common = common_counts(*ours, *theirs)
    either = ours.sizes + theirs.sizes - common
    shares = common / np.maximum(either, 1)
    counts = list(zip(common.tolist(), either.tolist(), strict=True))
    return Comparison(
        shares,
        shares >= threshold,
        [f"{both} of {all_} {what} are on both pages" for both, all_ in counts],
        {f"common_{column}": common.tolist(), column: either.tolist()},
    )


def _verdict(
    enough: bool,
    same: bool,
    tokens: tuple[int, int],
    amounts: tuple[str, str],
    near: bool,
    similarity: float,
    why: str,
    numbers: Mapping[str, object],
) -> PairVerdict:
    if not enough:
        why = f"too little text to tell: {amounts[0]}; {amounts[1]}"
        return Relation.UNDECIDED, None, {"why": why, "tokens": tokens}
    relation = Relation.NEAR if near else Relation.DIFFERENT
    if same:
        relation, why = Relation.SAME, f"all {tokens[0]} tokens are the same; {why}"
    return relation, similarity, {"why": why, "tokens": tokens, **numbers}
