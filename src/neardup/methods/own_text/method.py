"""`own-text`, the default: what two pages share of the text that is their own.

Most text of a web page belongs to its site. A page's own text is its text minus what its site
repeats on other pages; where a site is too small to tell, links, short lines, regions and the fact
that an article stands in one piece stand in. Nothing is cut off sharply: every line has a weight.

1. `site_counts`: on how many pages of a host, or of pages with the same furniture, each line and
   each title stands, and on how many of a host each line with a few words changed
   (`text.sites.LineCounts`).
2. `features`: the lines that weigh something, as shingles with weights, and the sentences that
   weigh most (`kernels/own_features.py`).
3. `keys`: one-permutation MinHash bands over the shingles, and the heaviest sentences.
4. `judge`: the weight of the text that two pages share, exactly, of what each has
   (`kernels/shared_text.py`). Two pages on one host must share more, more again if they have two
   titles there, and so must pages with little text.

Why, and what each constant is: docs/methods/own-text.md.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from neardup.arrays import (
    FeatureRows,
    list_array,
    number_array,
    ragged,
    sizes_of,
    string_array,
    string_buffers,
    string_columns,
)
from neardup.kernels import lines as text_lines
from neardup.kernels import own_features, own_shingles, site
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.own_features import SAMPLE_BYTES, Constants, Cut, OnSites, Weighed
from neardup.kernels.text_bits import TextBits, text_bits
from neardup.kernels.titles import titles_in_texts
from neardup.methods import identical
from neardup.methods.base import (
    NOTHING_SURVEYED,
    CandidateSource,
    Joining,
    Method,
    Numbers,
    SharedKeys,
    SurveyResults,
)
from neardup.methods.own_text.verdict import (
    FEW,
    RELATIONS,
    Measured,
    OwnTextOptions,
    evidence_of,
    measure,
    relations,
)
from neardup.model import Relation
from neardup.schemas import KEYS, RELATED, VERDICTS
from neardup.text.sites import NO_COUNTS, NO_KEYS, Layout, LineCounts, SiteCounts, text_bytes
from neardup.text.views import View, view_lines

RELATION_NAMES = pa.array([str(relation) for relation in RELATIONS])
SHELL = -1.0  # the amount of own text of a page whose text did not arrive
NO_PAGES = np.empty(0, np.int64)
# Of a survey that counted nothing.
NO_TABLE = np.zeros(1, np.uint64), np.zeros(2, np.uint32), NO_KEYS, NO_COUNTS
BANDS, ROWS = 32, 2  # of the sketch: pages that share a tenth of their text often meet


class WeighedPages(NamedTuple):
    """The lines of some pages, cut to tokens and weighed."""

    page: Layout
    cut: Cut
    weighed: Weighed


class OwnText(Method):
    """Weighted share of own text, verified token by token."""

    name = "own-text"
    paper = "neardup's own, the default"
    languages = "all: words of spaced scripts, characters of Han, Kana and Thai"
    cost = "linear in text; a verdict costs the two texts"
    page_columns = ("host", "title", "text", "kinds", "regions", "link_shares")
    Options = OwnTextOptions
    options: OwnTextOptions
    default_view = View.OWN
    rebuilt_columns = ("shingles", "sample_texts")

    @property
    def joining(self) -> Joining:
        return Joining.CENTRES

    @property
    def candidate_source(self) -> CandidateSource:
        return SharedKeys(max_single_key_pairs=2)

    @property
    def site_counts(self) -> SiteCounts | None:
        return self._line_counts if self.view is View.OWN else None

    @property
    def _line_counts(self) -> LineCounts:
        return LineCounts(self.options.furniture)

    def viewed(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        """On the view `own` lines are weighed, not left out."""
        return pages if self.view is View.OWN else super().viewed(pages, surveyed)

    @cached_property
    def feature_schema(self) -> pa.Schema:
        return pa.schema(
            [
                ("host", pa.uint64()),
                ("title", pa.uint64()),
                ("own_title", pa.uint64()),
                ("text", pa.uint64()),
                ("mass", pa.float64()),
                ("sister_mass", pa.float64()),
                ("amount", pa.float64()),
                ("shingles", pa.list_(pa.uint32())),
                ("run_lines", pa.list_(pa.uint32())),
                ("run_tokens", pa.list_(pa.uint32())),
                ("run_units", pa.list_(pa.uint8())),
                ("run_weights", pa.list_(pa.float32())),
                ("sister_weights", pa.list_(pa.float32())),
                ("sentences", pa.list_(pa.uint64())),
                ("samples", pa.list_(pa.uint32())),
                ("sample_texts", pa.list_(pa.string())),
            ]
        )

    def features(
        self, pages: pa.RecordBatch, surveyed: SurveyResults = NOTHING_SURVEYED
    ) -> pa.RecordBatch:
        return pa.record_batch(self._features(pages, surveyed), schema=self.feature_schema)

    def describe(
        self, pages: pa.RecordBatch, surveyed: SurveyResults = NOTHING_SURVEYED
    ) -> pa.RecordBatch:
        """As `Method.describe`, without a batch of the features alone."""
        features = self._features(self.viewed(pages, surveyed), surveyed)
        return self.with_identity(features, identical.identity_columns(pages))

    def _features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> list[pa.Array]:
        o = self.options
        page, cut, weighed = self._weigh(pages, surveyed)
        made = own_features.features(
            page.data, page.starts, page.documents, cut, weighed, o.shingle, o.sentences
        )
        made.amounts[_shells(pages, weighed.may_be_shells)] = SHELL
        sample_texts = string_array(made.sample_bytes, made.sample_offsets)
        return [
            number_array(page.hosts),
            number_array(page.titles),
            number_array(weighed.own_titles),
            number_array(made.texts),
            number_array(made.masses),
            number_array(made.host_masses),
            number_array(made.amounts),
            list_array(made.shingles, made.shingle_places),
            list_array(made.run_lines, made.run_places),
            list_array(made.run_tokens, made.run_places),
            list_array(made.run_units, made.run_places),
            list_array(made.run_weights, made.run_places),
            list_array(made.host_weights, made.run_places),
            list_array(made.sentences, made.sentence_places),
            list_array(made.samples, made.sample_places),
            list_array(sample_texts, made.sample_places),
        ]

    def rebuild(self, pages: pa.RecordBatch, features: pa.RecordBatch) -> list[pa.Array]:
        """Shingles are four fifths of the features, and hashes cannot be compressed."""
        data, offsets = text_bytes(self.viewed(pages, NOTHING_SURVEYED)["text"])
        bits = text_bits(data)
        starts, documents = text_lines.line_offsets(bits.newlines, offsets)
        tokens, piece_tokens, line_pieces, dense = _cut(data, starts, bits)
        run_lines, run_places = ragged(features["run_lines"])
        runs = run_lines + np.repeat(documents[:-1], sizes_of(run_places))
        kept = np.zeros(dense.size)
        kept[runs] = 1.0
        shingles, places, _ = own_shingles.own_shingles(
            tokens, piece_tokens[line_pieces], documents, kept, dense, self.options.shingle
        )
        samples, sample_places = ragged(features["samples"])
        first_runs = np.repeat(run_places[:-1], sizes_of(sample_places))
        sample_texts = _first_bytes(data, starts, runs[samples + first_runs])
        return [list_array(shingles, places), list_array(sample_texts, sample_places)]

    def _weigh(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> WeighedPages:
        """The tokens of pages, and the weight of each line."""
        page = Layout.of(pages, with_bits=True)
        cut = _cut(page.data, page.starts, page.bits)
        survey = surveyed.sites if page.has_sites else None
        weighed = own_features.weigh(
            cut,
            page.documents,
            page.menus,
            page.regions,
            page.link_shares,
            self._on_sites(page) if survey is not None else _on_no_sites(page),
            survey.table if survey is not None else NO_TABLE,
            self._constants,
        )
        return WeighedPages(page, cut, weighed)

    @cached_property
    def _constants(self) -> Constants:
        o = self.options
        return Constants(
            o.few_pages,
            float(o.link),
            float(o.outside),
            float(o.short),
            float(o.prose_share),
            float(o.power),
            float(o.own_share),
            1.0 - o.threshold,
            float(o.faint),
        )

    def _on_sites(self, page: Layout) -> OnSites:
        long_lines, traces = page.traces
        return OnSites(
            page.hosts,
            page.titles,
            page.furniture_keys(self.options.furniture),
            page.hashes,
            long_lines,
            traces,
            page.traces.rows(page.documents),
        )

    def line_weights(
        self,
        pages: pa.RecordBatch,
        surveyed: SurveyResults = NOTHING_SURVEYED,
        *,
        same_host: bool = False,
    ) -> pa.ListArray:
        page, _, weighed = self._weigh(self.viewed(pages, surveyed), surveyed)
        weights = weighed.on_host if same_host else weighed.kept
        for first, end in pairwise(page.documents.tolist()):
            if (heaviest := weights[first:end].max(initial=0.0)) > 0.0:
                weights[first:end] /= heaviest
        view = View.WHOLE if self.view is View.OWN else self.view  # `own` leaves no line out
        lines = view_lines(pages, view, None)
        every = np.zeros(len(lines.every))
        every[lines.numbers] = weights
        return list_array(every, lines.offsets)

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pa.array(self._decidable(features))

    def _decidable(self, features: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        return np.asarray(features.column("amount").to_numpy() >= self.options.enough)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        lists = *ragged(features.column("shingles")), *ragged(features.column("sentences"))
        amounts = features.column("amount").to_numpy()
        rows, keys = own_features.keys(*lists, amounts, self.options.enough, BANDS, ROWS)
        return pa.record_batch([number_array(rows), number_array(keys)], schema=KEYS)

    def shells(self, features: pa.RecordBatch) -> NDArray[np.bool_]:
        return np.asarray(features["amount"].to_numpy() < 0)

    def same_host_group(self, features: pa.RecordBatch) -> NDArray[np.uint64]:
        return np.asarray(features["host"].to_numpy(), np.uint64)

    def judge(
        self, rows: FeatureRows, left: Numbers, right: Numbers, *, evidence: bool = True
    ) -> pa.RecordBatch:
        """The features are read where they are: nothing is copied for a pair."""
        places = rows.places(left), rows.places(right)
        pairs = measure(rows, *places, self.options)
        said = relations(pairs, self.options)
        related = _related(said, pairs)
        if not evidence:
            return pa.record_batch(related, schema=RELATED)
        reasons = evidence_of(said, pairs, rows, *places)
        return pa.record_batch([*related, reasons], schema=VERDICTS)


def _cut(data: NDArray[np.uint8], starts: Numbers, bits: TextBits) -> Cut:
    """The tokens of pages."""
    pieces, line_pieces = text_lines.sentence_offsets(bits.ends, starts)
    tokens, piece_tokens = folded_token_hashes(data, pieces, bits)
    counts = sizes_of(piece_tokens[line_pieces])
    return Cut(
        tokens, piece_tokens, line_pieces, text_lines.dense_lines(bits.unspaced, starts, counts)
    )


def _on_no_sites(page: Layout) -> OnSites:
    """What pages are without a survey, which spares the hashes of their lines."""
    pages, lines = page.hosts.size, page.starts.size - 1
    return OnSites(
        page.hosts,
        page.titles,
        np.zeros((pages, site.BANDS), np.uint64),
        np.zeros(lines, np.uint64),
        np.empty(0, np.int64),
        np.empty((0, text_lines.TRACES), np.uint64),
        np.zeros(pages + 1, np.int64),
    )


def _shells(pages: pa.RecordBatch, suspects: NDArray[np.bool_]) -> Numbers:
    """The pages whose text did not arrive: all of it stands on nearly all pages of the host, most
    of which have other titles, and their own title is not in it. What they share is not theirs."""
    if not suspects.any():
        return NO_PAGES
    rows = np.flatnonzero(suspects)
    taken = pages.take(pa.array(rows))
    shown = titles_in_texts(*string_buffers(taken["title"]), *string_buffers(taken["text"]))
    return rows[~shown]


def _related(said: NDArray[np.int8], pairs: Measured) -> list[pa.Array]:
    """Relation and similarity, which an undecided pair has none of."""
    undecided = said == RELATIONS.index(Relation.UNDECIDED)
    if said.size <= FEW:
        [names] = string_columns([RELATIONS[number] for number in said.tolist()])
    else:
        names = RELATION_NAMES.take(pa.array(said))
    if not undecided.any():
        return [names, number_array(pairs.similarity)]
    return [names, pa.array(pairs.similarity, mask=undecided)]


def _first_bytes(data: NDArray[np.uint8], starts: Numbers, chosen: Numbers) -> pa.StringArray:
    """What is shown of some lines."""
    return string_array(*text_lines.line_starts(data, starts, chosen, SAMPLE_BYTES))
