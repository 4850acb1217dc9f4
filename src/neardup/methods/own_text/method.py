"""`own-text`, the default: what two pages share of the text that is their own.

Most text of a web page belongs to its site. A page's own text is its text minus what its site
repeats on other pages; where a site is too small to tell, links, short lines, regions and the fact
that an article stands in one piece stand in. Nothing is cut off sharply: every line has a weight.

1. `site_counts`: on how many pages of a host, or of pages with the same furniture, each line and
   each title stands, and on how many of a host each line with a few words changed
   (`text.sites.LineCounts`).
2. `features`: the lines that weigh something, as shingles with weights, and the sentences that
   weigh most (`kernels/own_text.py`, `kernels/own_shingles.py`).
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
    offsets_of,
    ragged,
    sizes_of,
    string_array,
    string_buffers,
    string_columns,
)
from neardup.kernels import lines as text_lines
from neardup.kernels import own_shingles, own_text, site
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.minhash import group_hashes, one_permutation
from neardup.kernels.text_bits import TextBits, text_bits
from neardup.kernels.titles import titles_in_texts
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
from neardup.text.sites import Layout, LineCounts, SiteCounts, Survey, lines_of
from neardup.text.views import View, view_lines

RELATION_NAMES = pa.array([str(relation) for relation in RELATIONS])
SAMPLES = 3  # lines remembered as examples for the evidence
SAMPLE_BYTES = 160
NEARLY_ALL = 0.75  # of the pages of a host
SEVERAL = 4  # pages of a host with the same text, or nearly
SHELL = -1.0  # the amount of own text of a page whose text did not arrive
PAIR, FEW_IN = 2.0, 8  # pages: two of sixteen are few, two of eight may be two of many
BANDS, ROWS = 32, 2  # of the sketch: pages that share a tenth of their text often meet


class OnSites(NamedTuple):
    """What a survey says of some pages, by line or by page."""

    counts: NDArray[np.int64]  # of a line: the pages of its site that have it
    edited_counts: NDArray[np.int64]  # those that have it as it is or edited
    title_counts: NDArray[np.int64]  # of a page: the pages of its host with its title
    few_pages: NDArray[np.float64]  # of its host
    host_pages: NDArray[np.int64]
    pair_levels: NDArray[np.float64]  # the least own level beside another page of its host
    own_titles: NDArray[np.uint64]  # the title, if few pages of the host have it; 0 otherwise


class Weighed(NamedTuple):
    """The lines of some pages, cut to tokens and weighed."""

    page: Layout
    tokens: NDArray[np.uint64]
    piece_tokens: NDArray[np.int64]  # the first token of each sentence
    line_pieces: NDArray[np.int64]  # the first sentence of each line
    units: NDArray[np.int64]
    dense: NDArray[np.bool_]  # lines of scripts without spaces
    kept: NDArray[np.float64]  # the weight of each line; 0 if it is left out
    on_host: NDArray[np.float64]  # its weight next to a page of the same host
    own_titles: NDArray[np.uint64]
    shells: NDArray[np.int64]  # the pages whose text did not arrive


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
        o = self.options
        weighed = self._weigh(pages, surveyed)
        page, tokens, piece_tokens, line_pieces = weighed[:4]
        units, dense, kept, on_host, own_titles, shells = weighed[4:]
        line_tokens = piece_tokens[line_pieces]
        counts = sizes_of(line_tokens)
        shingles, shingle_places, texts = own_shingles.own_shingles(
            tokens, line_tokens, page.documents, kept, dense, o.shingle
        )
        sentences, sentence_places = own_shingles.heaviest_sentences(
            tokens, piece_tokens, line_pieces, page.documents, kept, dense, o.sentences, o.shingle
        )
        runs = np.flatnonzero(kept)
        runs_before = offsets_of(kept > 0.0)  # each line
        run_places = runs_before[page.documents]
        run_lines = runs - np.repeat(page.documents[:-1], sizes_of(run_places))
        unit = np.where(dense[runs], 1, 2)
        mass, amount = own_text.own_masses(kept, units, page.documents)
        amount[shells] = SHELL
        host_mass, _ = own_text.own_masses(on_host, units, page.documents)
        samples, sample_places, sample_texts = _samples(page, kept * units, runs_before)
        return pa.record_batch(
            [
                page.hosts,
                page.titles,
                own_titles,
                texts,
                mass,
                host_mass,
                amount,
                list_array(shingles, shingle_places),
                list_array(run_lines.astype(np.uint32), run_places),
                list_array(counts[runs].astype(np.uint32), run_places),
                list_array(unit.astype(np.uint8), run_places),
                list_array((kept[runs] * unit).astype(np.float32), run_places),
                list_array((on_host[runs] * unit).astype(np.float32), run_places),
                list_array(sentences, sentence_places),
                list_array(samples, sample_places),
                list_array(sample_texts, sample_places),
            ],
            schema=self.feature_schema,
        )

    def rebuild(self, pages: pa.RecordBatch, features: pa.RecordBatch) -> list[pa.Array]:
        """Shingles are four fifths of the features, and hashes cannot be compressed."""
        data, starts, documents = lines_of(self.viewed(pages, NOTHING_SURVEYED)["text"])
        tokens, piece_tokens, line_pieces, dense = _cut(data, starts, text_bits(data))
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

    def _weigh(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> Weighed:
        """The tokens of pages, and the weight of each line."""
        o = self.options
        page = Layout.of(pages)
        tokens, piece_tokens, line_pieces, dense = _cut(page.data, page.starts, page.bits)
        counts = sizes_of(piece_tokens[line_pieces])
        units = counts * np.where(dense, 1, 2)
        prose = own_text.prose_shares(page.menus, page.regions, page.link_shares, o.link, o.outside)
        weights = own_text.line_weights(
            prose, units, page.documents, o.short, o.prose_share, o.outside
        )
        known = self._on_sites(page, surveyed.sites if page.has_sites else None)
        kept, on_host, levels = own_text.weights_on_site(
            weights,
            prose,
            units,
            known.counts,
            known.edited_counts,
            known.title_counts,
            known.few_pages,
            known.pair_levels,
            page.documents,
            o.power,
            o.own_share,
            1.0 - o.threshold,
            o.faint,
        )
        return Weighed(
            page,
            tokens,
            piece_tokens,
            line_pieces,
            units,
            dense,
            kept,
            on_host,
            known.own_titles,
            _shells(pages, page, known, levels),
        )

    def line_weights(
        self,
        pages: pa.RecordBatch,
        surveyed: SurveyResults = NOTHING_SURVEYED,
        *,
        same_host: bool = False,
    ) -> pa.ListArray:
        weighed = self._weigh(self.viewed(pages, surveyed), surveyed)
        weights = weighed.on_host if same_host else weighed.kept
        for first, end in pairwise(weighed.page.documents.tolist()):
            if (heaviest := weights[first:end].max(initial=0.0)) > 0.0:
                weights[first:end] /= heaviest
        view = View.WHOLE if self.view is View.OWN else self.view  # `own` leaves no line out
        lines = view_lines(pages, view, None)
        every = np.zeros(len(lines.every))
        every[lines.numbers] = weights
        return list_array(every, lines.offsets)

    def _on_sites(self, page: Layout, survey: Survey | None) -> OnSites:
        """What the survey says of the lines and titles of some pages.

        One page in `FEW_IN` of a host is few: a title that so many have is the page's and not the
        host's, and what no more pages of a title have is no template between two of them, who are
        both among these pages themselves. A page without a title may have any.
        """
        lines, pages = page.starts.size - 1, page.hosts.size
        if survey is None:
            alone, once = np.ones(pages, np.int64), np.ones(lines, np.int64)
            none = np.zeros_like(page.titles)
            return OnSites(once, once, alone, np.full(pages, PAIR), alone, np.ones(pages), none)
        table = survey.table
        on_hosts = site.counts_of(site.host_keys(page.hosts), *table)
        counts = site.line_counts(
            page.hashes,
            page.documents,
            page.hosts,
            on_hosts,
            page.furniture_keys(self.options.furniture),
            self.options.few_pages,
            *table,
        )
        long_lines, traces = page.traces
        edited = np.ones(lines, np.int64)
        edited[long_lines] = site.trace_counts(
            traces, page.traces.rows(page.documents), page.hosts, on_hosts, *table
        )
        few = on_hosts / FEW_IN
        with_title = site.counts_of(site.title_keys(page.hosts, page.titles), *table)
        may_be_pair = (with_title > 1) | (page.titles == 0)
        return OnSites(
            counts,
            np.maximum(counts, edited),
            with_title,
            np.maximum(few, PAIR),
            on_hosts,
            np.where(may_be_pair, np.minimum(np.maximum(few, 1.0), PAIR), 1.0),
            np.where(with_title <= few, page.titles, np.uint64(0)),
        )

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pa.array(self._decidable(features))

    def _decidable(self, features: pa.RecordBatch | pa.Table) -> NDArray[np.bool_]:
        return np.asarray(features.column("amount").to_numpy() >= self.options.enough)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        shingles, places = ragged(features.column("shingles"))
        samples = one_permutation(shingles, places, BANDS * ROWS)
        bands = group_hashes(samples, ROWS)
        sentences, sentence_places = ragged(features.column("sentences"))
        rows = np.arange(features.num_rows)
        every_row = np.concatenate(
            [np.repeat(rows, BANDS), np.repeat(rows, sizes_of(sentence_places))]
        )
        every_key = np.concatenate([bands.ravel(), sentences])
        enough = self._decidable(features)[every_row]
        return pa.record_batch([every_row[enough], every_key[enough]], schema=KEYS)

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


def _cut(
    data: NDArray[np.uint8], starts: Numbers, bits: TextBits
) -> tuple[NDArray[np.uint64], Numbers, Numbers, NDArray[np.bool_]]:
    """The tokens of pages, the first token of each sentence, the first sentence of each line, and
    which lines are of scripts without spaces."""
    pieces, line_pieces = text_lines.sentence_offsets(bits.ends, starts)
    tokens, piece_tokens = folded_token_hashes(data, pieces, bits)
    counts = sizes_of(piece_tokens[line_pieces])
    dense = text_lines.dense_lines(bits.unspaced, starts, counts)
    return tokens, piece_tokens, line_pieces, dense


def _shells(
    pages: pa.RecordBatch, page: Layout, known: OnSites, levels: NDArray[np.float64]
) -> Numbers:
    """The pages whose text did not arrive: all of it stands on nearly all pages of the host, most
    of which have other titles, and their own title is not in it. What they share is not theirs."""
    several = np.maximum(2 * known.title_counts, SEVERAL)
    on_most = (levels >= NEARLY_ALL * known.host_pages) & (levels <= known.host_pages)
    others = (levels >= several) & on_most
    suspects = np.flatnonzero(others & (page.titles != 0))
    if not suspects.size:
        return suspects
    taken = pages.take(pa.array(suspects))
    shown = titles_in_texts(*string_buffers(taken["title"]), *string_buffers(taken["text"]))
    return suspects[~shown]


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


def _samples(
    page: Layout,
    masses: NDArray[np.float64],
    runs_before: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], pa.StringArray]:
    """The heaviest lines of each page: their numbers among its kept lines, and their text."""
    chosen, places = own_text.heaviest_lines(masses, page.documents, SAMPLES)
    first_runs = np.repeat(runs_before[page.documents[:-1]], sizes_of(places))
    numbers = runs_before[chosen] - first_runs
    return numbers.astype(np.uint32), places, _first_bytes(page.data, page.starts, chosen)


def _first_bytes(data: NDArray[np.uint8], starts: Numbers, chosen: Numbers) -> pa.StringArray:
    """What is shown of some lines."""
    return string_array(*text_lines.line_starts(data, starts, chosen, SAMPLE_BYTES))
