"""`news-clusters`: Liang & Wen, a method of detecting approximate repetitive news documents.

Five devices and two stores (section 2, figure 1):

    step 1   Extractor   features and fingerprints of a page           extractor.py
    step 2   Selector    X fingerprints that point to one cluster      devices.py
    step 3   Comparer    the most similar recent page                  devices.py
    step 4   Voter       the head of a new cluster                     devices.py
    step 5   Updater     bindings, weights, the inverted table         devices.py
             FMS, DMS    fingerprint and document mapping systems      stores.py

`NewsClusters` combines them. The alternatives of section 3 are options.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.arrays import FeatureRows, Floats, list_array, ragged, string_buffers
from neardup.kernels.feature_codes import common_symbols
from neardup.kernels.sentences import count_sentences
from neardup.kernels.shingles import document_hashes
from neardup.kernels.tokens import token_hashes
from neardup.methods.base import (
    InOrder,
    Method,
    Numbers,
    PairVerdict,
    State,
    SurveyResults,
    assigned_batch,
    key_batch,
    verdict_batch,
)
from neardup.methods.news_clusters import extractor
from neardup.methods.news_clusters.devices import (
    UNDECIDED,
    Foresight,
    Newsroom,
    Placed,
    can_foresee,
    foresee,
)
from neardup.methods.news_clusters.extractor import bare, extract, longest_sentences, story_title
from neardup.methods.news_clusters.stores import Clock, NewsClustersOptions, NewsPage
from neardup.model import Relation
from neardup.schemas import TIME
from neardup.text.keywords import keyword_languages, keywords
from neardup.text.tokens import fold_batch, tokens_batch
from neardup.text.views import View, page_lines

BATCH = 16_384  # most pages held as Python objects at a time
NO_WORDS = pa.scalar([], pa.list_(pa.string()))


class NewsClusters(Method):
    """Longest sentences as fingerprints; the rest by similarity to recent news."""

    name = "news-clusters"
    paper = "Liang & Wen 2017, multi-feature fingerprint clusters"
    languages = "all"
    cost = "about linear: a few look-ups and at most 50 comparisons per page"
    Options = NewsClustersOptions
    options: NewsClustersOptions
    threshold_option = "k"
    paper_preset = {
        "title_part": False,
        "stand_in": False,
        "minimum_sentences": 0,
        "common": 0,
        "frequent": 0,
    }
    default_view = View.OWN
    view_option = "site_blocks"
    candidate_source = InOrder()
    feature_schema = pa.schema(
        [
            ("fingerprints", pa.list_(pa.uint64())),  # the title's first
            ("title_words", pa.list_(pa.string())),
            ("words", pa.list_(pa.uint32())),  # of the text: distinct, hashed, ascending
            ("counts", pa.list_(pa.uint16())),
            ("sequence", pa.string()),  # of the text; only for the LCS
            ("sentences", pa.int32()),
            ("digest", pa.uint64()),  # of the text
            ("time", TIME),
        ]
    )

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        blocks = page_lines(pages)
        texts = pc.binary_join(blocks, "\n")
        titles = self._titles(pages["title"])
        languages = keyword_languages(pages)
        fingerprints = extract(titles, blocks, self.options)
        vectors = extractor.count_words(keywords(texts, languages))
        columns = [
            fingerprints,
            keywords(self._title_texts(titles, blocks), languages),
            list_array(vectors.words, vectors.offsets),
            list_array(vectors.counts, vectors.offsets),
            self._sequences(texts),
            pa.array(count_sentences(*string_buffers(texts))),
            _digests(texts),
            pages["time"],
        ]
        return pa.record_batch(columns, schema=self.feature_schema)

    def _titles(self, titles: pa.StringArray) -> pa.StringArray:
        if not self.options.title_part:
            return titles
        return pa.array([story_title(title) for title in titles.to_pylist()], pa.string())

    def _title_texts(self, titles: pa.StringArray, blocks: pa.ListArray) -> pa.StringArray:
        """The titles, with the longest sentence in place of a missing one if the option says so."""
        untitled = pc.equal(pc.utf8_length(bare(titles)), 0)
        if not self.options.stand_in or not pc.any(untitled).as_py():
            return titles
        longest = longest_sentences(blocks.filter(untitled), self.options).to_pylist()
        first = pa.array([(each or [""])[0] for each in longest], pa.string())
        return pc.replace_with_mask(titles, untitled, first)

    def _sequences(self, texts: pa.StringArray) -> pa.StringArray:
        if self.options.comparison != "lcs":
            return pa.array([""] * len(texts), pa.string())
        tokens = tokens_batch(fold_batch(texts))
        return pa.array(
            [extractor.as_sequence(each.values.to_numpy()) for each in tokens], pa.string()
        )

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.and_(
            pc.greater(pc.list_value_length(features["fingerprints"]), 0),
            pc.greater_equal(features["sentences"], self.options.minimum_sentences),
        )

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.decidable_rows(features)
        keys, offsets = ragged(features["fingerprints"].take(pa.array(rows)))
        return key_batch(np.repeat(rows, np.diff(offsets)), keys)

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        """What Selector and Comparer would say if there were only these two pages."""
        ours, theirs = rows.sides(left, right)
        enough = pc.and_(self.decidable(ours), self.decidable(theirs)).to_pylist()
        same = pc.equal(ours["digest"], theirs["digest"]).to_pylist()
        left_prints, right_prints = (ragged(side["fingerprints"]) for side in (ours, theirs))
        common = common_symbols(*left_prints, *right_prints)
        totals = np.maximum(left_prints.sizes, right_prints.sizes)
        values = self._values(ours, theirs)
        columns = (enough, same, common.tolist(), totals.tolist(), values.tolist())
        return verdict_batch(self._verdict(*row) for row in zip(*columns, strict=True))

    def _values(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Floats:
        """The Comparer's value of each pair."""
        if self.options.comparison == "lcs":
            sequences = left["sequence"].to_pylist(), right["sequence"].to_pylist()
            return extractor.common_subsequences(*sequences)
        rows = range(left.num_rows)
        return extractor.cosines(_vectors(left), _vectors(right), rows, rows)

    def _verdict(
        self, enough: bool, same: bool, common: int, total: int, value: float
    ) -> PairVerdict:
        if not enough:
            return Relation.UNDECIDED, None, {"why": "too little text to tell"}
        measure = self.options.comparison
        evidence: dict[str, object] = {
            "why": f"{common} of {total} fingerprints in common; {measure} {value:.2f}",
            "fingerprints": total,
            "common": common,
            measure: round(value, 4),
        }
        if same:
            return Relation.SAME, 1.0, {**evidence, "why": "the main texts are the same"}
        if common >= self.options.x:
            return Relation.NEAR, common / total, evidence
        near = value > self.options.k
        return Relation.NEAR if near else Relation.DIFFERENT, value, evidence

    def assign(self, ids: pa.Array, features: pa.RecordBatch, state: State) -> pa.RecordBatch:
        """Place pages in clusters one by one (`schemas.ASSIGNED`).

        A page without a time gets the latest time seen so far.
        """
        room, clock = Newsroom(state, self.options), Clock(state)
        timestamps = features["time"].cast(pa.int64()).to_pylist()
        times = np.array([clock.time_of(each) for each in timestamps], np.int64)
        if can_foresee(room, times):
            titles = pc.if_else(self.decidable(features), features["title_words"], NO_WORDS)
            best = foresee(ids, titles, _vectors(features), times, self.options)
            room.comparer = Foresight(room.documents, room.table, self.options, best)
        batches = []
        for first in range(0, max(len(ids), 1), BATCH):
            here = (each.slice(first, BATCH) for each in (ids, features, pa.array(times)))
            batches.append(assigned_batch(self._place(room, *here)))
        return pa.concat_batches(batches)

    def _place(
        self, room: Newsroom, ids: pa.Array, features: pa.RecordBatch, times: pa.Array
    ) -> Iterator[Placed]:
        decidable = self.decidable(features).to_pylist()
        pages = self._pages(ids, features, times)
        for enough, page in zip(decidable, pages, strict=True):
            yield room.place(page) if enough else UNDECIDED

    def _pages(
        self, ids: pa.Array, features: pa.RecordBatch, times: pa.Array
    ) -> Iterator[NewsPage]:
        vectors = _vectors(features)
        searched = self.options.candidates == "search"
        columns = ("fingerprints", "title_words", "sequence", "digest")
        rows = zip(*(features[name].to_pylist() for name in columns), strict=True)
        for row, (page, time, (prints, title_words, sequence, digest)) in enumerate(
            zip(ids.to_pylist(), times.to_pylist(), rows, strict=True)
        ):
            here = slice(vectors.offsets[row], vectors.offsets[row + 1])
            words = vectors.words[here]
            yield NewsPage(
                id=page,
                time=time,
                fingerprints=tuple(prints),
                title_words=tuple(title_words),
                content=sequence or extractor.pack(words, vectors.counts[here]),
                text_words=tuple(map(str, words.tolist())) if searched else (),
                digest=f"{digest:016x}",
            )


def _digests(texts: pa.StringArray) -> pa.Array:
    """A hash of the words of each text, whatever its case, width, punctuation and spaces."""
    tokens = token_hashes(*string_buffers(fold_batch(texts)))
    return pa.array(document_hashes(*tokens))


def _vectors(features: pa.RecordBatch) -> extractor.Vectors:
    words, offsets = ragged(features["words"])
    return extractor.Vectors(words, features["counts"].flatten().to_numpy(), offsets)
