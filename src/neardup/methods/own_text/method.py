"""`own-text`, the default: what two pages share of the text that is their own.

Most text of a web page belongs to its site. A page's own text is its text minus what its site
repeats on other pages; where a site is too small to tell, links, short lines, regions and the fact
that an article stands in one piece stand in. Nothing is cut off sharply: every line has a weight.

1. `survey`: on how many pages of a host, or of pages with the same furniture, each line stands,
   and each title.
2. `features`: the lines that weigh something, as shingles with weights, and the sentences that
   weigh most (`kernels/own_text.py`, `kernels/own_shingles.py`).
3. `keys`: one-permutation MinHash bands over the shingles, and the heaviest sentences.
4. `judge`: the weight of the text that two pages share, exactly, of what each has
   (`kernels/shared_text.py`). More is asked of two pages on one host, more again if they have two
   titles there, and more of pages with little text.

Why, and what each constant is: docs/methods/own-text.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.arrays import lists, ragged
from neardup.kernels import key_order, own_shingles, own_text, site
from neardup.kernels import lines as text_lines
from neardup.kernels.folded_tokens import folded_token_hashes
from neardup.kernels.minhash import group_hashes, one_permutation
from neardup.methods.base import Method, Places, Survey
from neardup.methods.own_text.layout import Layout, have_sites, layout
from neardup.methods.own_text.options import OwnTextOptions
from neardup.methods.own_text.verdict import RELATIONS, Measured, evidence, measure, relations
from neardup.model import Relation
from neardup.schemas import COUNTS, KEYS, RELATED, VERDICTS

RELATION_NAMES = pa.array([str(relation) for relation in RELATIONS])
SAMPLES = 3  # lines remembered as examples for the evidence
SAMPLE_BYTES = 160
PAIR, FEW_IN = 2.0, 32  # pages: two of 64 are few, two of 32 may be two of many
BANDS, ROWS = 32, 2  # of the sketch: pages that share a tenth of their text often meet


class OwnText(Method):
    """Weighted share of own text, verified token by token."""

    name = "own-text"
    paper = "neardup's own, the default"
    languages = "all: words of spaced scripts, characters of Han, Kana and Thai"
    cost = "linear in text; a verdict costs the two texts"
    chance_pairs = 2
    page_columns = ("host", "title", "text", "kinds", "regions", "link_shares")
    Options = OwnTextOptions
    options: OwnTextOptions

    @property
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
                ("run_tokens", pa.list_(pa.uint32())),
                ("run_units", pa.list_(pa.uint8())),
                ("run_weights", pa.list_(pa.float32())),
                ("sister_weights", pa.list_(pa.float32())),
                ("sentences", pa.list_(pa.uint64())),
                ("samples", pa.list_(pa.uint32())),
                ("sample_texts", pa.list_(pa.string())),
            ]
        )

    def survey(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        if not have_sites(pages):
            return pa.RecordBatch.from_pylist([], COUNTS)
        page = layout(pages)
        keys = self._survey_keys(page, page.furniture)
        ordered = key_order.in_order_of_keys(keys, np.ones(keys.size, np.int64))
        return pa.record_batch(list(key_order.sums_of_keys(*ordered)), schema=COUNTS)

    def asked(self, pages: pa.RecordBatch) -> NDArray[np.uint64]:
        """Of a line that is furniture here, too: on other pages it may be none."""
        page = layout(pages)
        return np.unique(self._survey_keys(page, np.zeros_like(page.furniture)))

    def features(self, pages: pa.RecordBatch, survey: Survey | None = None) -> pa.RecordBatch:
        o = self.options
        page = layout(pages)
        pieces, line_pieces = text_lines.sentence_offsets(page.bits.ends, page.starts)
        tokens, piece_tokens = folded_token_hashes(page.data, pieces, page.bits)
        line_tokens = piece_tokens[line_pieces]
        counts = np.diff(line_tokens)
        dense = text_lines.dense_lines(page.bits.unspaced, page.starts, counts)
        units = counts * np.where(dense, 1, 2)
        told = own_text.told_shares(page.menus, page.link_shares, o.link)
        weights = own_text.line_weights(told, units, page.documents, o.short, o.told, o.outside)
        repeated, few, own_titles = self._on_sites(page, survey if page.has_sites else None)
        kept, to_sisters = own_text.weights_on_site(
            weights, told, units, repeated, few, page.documents, o.power, o.own_share, o.faint
        )
        shingles, shingle_places, texts = own_shingles.own_shingles(
            tokens, line_tokens, page.documents, kept, dense, o.shingle
        )
        sentences, sentence_places = own_shingles.heaviest_sentences(
            tokens, piece_tokens, line_pieces, page.documents, kept, dense, o.sentences, o.shingle
        )
        runs = np.flatnonzero(kept)
        runs_before = np.zeros(kept.size + 1, np.int64)  # each line
        np.cumsum(kept > 0.0, out=runs_before[1:])
        run_places = runs_before[page.documents]
        unit = np.where(dense[runs], 1, 2)
        mass, amount = own_text.own_masses(kept, units, page.documents)
        sister_mass, _ = own_text.own_masses(to_sisters, units, page.documents)
        samples, sample_places, sample_texts = _samples(page, kept * units, runs_before)
        return pa.record_batch(
            [
                page.hosts,
                page.titles,
                own_titles,
                texts,
                mass,
                sister_mass,
                amount,
                lists(shingles, shingle_places),
                lists(counts[runs].astype(np.uint32), run_places),
                lists(unit.astype(np.uint8), run_places),
                lists((kept[runs] * unit).astype(np.float32), run_places),
                lists((to_sisters[runs] * unit).astype(np.float32), run_places),
                lists(sentences, sentence_places),
                lists(samples, sample_places),
                pa.ListArray.from_arrays(pa.array(sample_places, pa.int32()), sample_texts),
            ],
            schema=self.feature_schema,
        )

    def sites(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """The host of each page, and its furniture keys."""
        page = layout(pages)
        every = np.column_stack([page.hosts, self._sites(page)])
        rows, columns = np.nonzero(every)
        return pa.record_batch([rows, every[rows, columns]], schema=KEYS)

    def _survey_keys(self, page: Layout, furniture: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """What the pages count one for: their host, their title on it, and their lines."""
        sites = self._sites(page)
        lines = site.survey_keys(page.hashes, page.documents, furniture, page.hosts, sites)
        hosts, titles = site.host_keys(page.hosts), site.title_keys(page.hosts, page.titles)
        return np.concatenate([hosts[hosts != 0], titles[titles != 0], lines])

    def _sites(self, page: Layout) -> NDArray[np.uint64]:
        return site.furniture_keys(
            page.hashes, page.documents, page.furniture, self.options.furniture
        )

    def _on_sites(
        self, page: Layout, survey: Survey | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint64]]:
        """On how many pages of its site each line stands; the least level of each page beside
        another page of its host; and the titles that few pages of the host have, 0 for others.

        Two pages of one host are both among those that have a line. What only they have is no
        template between them, if the host has pages enough to tell: two of less than one in
        `FEW_IN`. In the same way a title is the page's, and not the host's.
        """
        if survey is None:
            alone = np.ones(page.hosts.size)
            return np.ones(page.starts.size - 1, np.int64), alone, np.zeros_like(page.titles)
        few_pages, table = self.options.few_pages, survey.table
        on_hosts = site.counts_of(site.host_keys(page.hosts), *table)
        counts = site.line_counts(
            page.hashes, page.documents, page.hosts, on_hosts, self._sites(page), few_pages, *table
        )
        few = on_hosts / FEW_IN
        with_title = site.counts_of(site.title_keys(page.hosts, page.titles), *table)
        own_titles = np.where(with_title <= few, page.titles, np.uint64(0))
        return counts, np.clip(few, 1.0, PAIR), own_titles

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pc.greater_equal(features.column("amount"), self.options.enough)

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        shingles, places = ragged(features.column("shingles"))
        samples = one_permutation(shingles, places, BANDS * ROWS)
        bands = group_hashes(samples, ROWS)
        sentences, sentence_places = ragged(features.column("sentences"))
        rows = np.arange(features.num_rows)
        every_row = np.concatenate(
            [np.repeat(rows, BANDS), np.repeat(rows, np.diff(sentence_places))]
        )
        every_key = np.concatenate([bands.ravel(), sentences])
        enough = self.decidable(features).to_numpy(zero_copy_only=False)[every_row]
        return pa.record_batch([every_row[enough], every_key[enough]], schema=KEYS)

    def sisters(self, features: pa.RecordBatch) -> NDArray[np.uint64]:
        """Pages of one host."""
        return np.asarray(features["host"].to_numpy(), np.uint64)

    def judge(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        rows = np.arange(left.num_rows, dtype=np.int32)
        return self.judge_in_place(
            [left, right], Places(np.zeros_like(rows), rows), Places(np.ones_like(rows), rows)
        )

    def judge_in_place(
        self, batches: Sequence[pa.RecordBatch], left: Places, right: Places
    ) -> pa.RecordBatch:
        """The verdict on each pair of rows of some feature batches."""
        pairs = measure(batches, left, right, self.options)
        said = relations(pairs, self.options)
        reasons = evidence(said, pairs, batches, left, right)
        return pa.record_batch([*_related(said, pairs), reasons], schema=VERDICTS)

    def relate_in_place(
        self, batches: Sequence[pa.RecordBatch], left: Places, right: Places
    ) -> pa.RecordBatch:
        """The verdicts without the reasons."""
        pairs = measure(batches, left, right, self.options)
        return pa.record_batch(_related(relations(pairs, self.options), pairs), schema=RELATED)


def _related(said: NDArray[np.int8], pairs: Measured) -> list[pa.Array]:
    """Relation and similarity, which an undecided pair has none of."""
    undecided = said == RELATIONS.index(Relation.UNDECIDED)
    return [RELATION_NAMES.take(pa.array(said)), pa.array(pairs.similarity, mask=undecided)]


def _samples(
    page: Layout,
    masses: NDArray[np.float64],
    runs_before: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], pa.StringArray]:
    """The heaviest lines of each page: their numbers among its kept lines, and their text."""
    chosen, places = own_text.heaviest_lines(masses, page.documents, SAMPLES)
    first_runs = np.repeat(runs_before[page.documents[:-1]], np.diff(places))
    numbers = runs_before[chosen] - first_runs
    text, ends = text_lines.line_starts(page.data, page.starts, chosen, SAMPLE_BYTES)
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text)]
    texts = pa.Array.from_buffers(pa.string(), chosen.size, buffers)
    return numbers.astype(np.uint32), places, texts
