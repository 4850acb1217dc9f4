"""Duplicates among pages in memory: no work folder, no result folder, no report.

The pages go through both halves of the pipeline as those of a run do, so the answers are those of
`dedup` on the same pages. Evidence in words is made only for the pairs that somebody asks about.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.errors import UsageError
from neardup.local.corpus import CARRIED, Corpus, with_derived
from neardup.local.features import judge_in_steps
from neardup.local.outcome import REJECTED
from neardup.local.pipeline import Judged, Outcome, judge, settle
from neardup.local.run import Silent, Stages, default_workers, ordered_map, reuse_freed_memory
from neardup.local.work import Run
from neardup.methods.base import Method
from neardup.model import Relation, Verdict
from neardup.pages.tables import sliceable, text_column, time_column, to_column
from neardup.schemas import RAW, TIME
from neardup.text.parse import parse, parse_texts

Numbers = NDArray[np.int64]

ROWS_AT_ONCE = 2_048
BYTES_AT_ONCE = 6_000_000  # of texts that are parsed at a time, about

PAIRS = pa.schema(
    [
        ("a", pa.int64()),
        ("b", pa.int64()),
        ("relation", pa.string()),
        ("similarity", pa.float64()),
        ("number", pa.int64()),
    ]
)

Values = Any  # a column of any kind: see `pages.tables`


@dataclass(frozen=True)
class Rows:
    """Pages as columns of one length, each row known by its position.

    Of `html` and `text` (strings, or byte strings of any charset) a row has the html, or else the
    text; one that has neither is not a page. Columns are converted some rows at a time, so that a
    list of strings is never held twice.
    """

    html: Values = None
    text: Values = None
    ids: Values = None
    urls: Values = None
    titles: Values = None
    times: Values = None

    @classmethod
    def of(cls, **columns: Values) -> Rows:
        """Rows of columns of any kind, each a list, an array or a series, or None."""
        made = {
            name: None if values is None else sliceable(values, name)
            for name, values in columns.items()
        }
        counts = {name: len(values) for name, values in made.items() if values is not None}
        if len(set(counts.values())) > 1:
            sizes = ", ".join(f"{name} {count:,}" for name, count in counts.items())
            raise UsageError(f"the columns must have one length; they have: {sizes}")
        if made.get("text") is None and made.get("html") is None:
            raise UsageError("texts must be a list, an array or a series, not None")
        return cls(**made)

    @property
    def count(self) -> int:
        return len(self.html if self.html is not None else self.text)

    def pages(self, start: int) -> pa.Table:
        """The pages among `ROWS_AT_ONCE` rows from `start` on, with their `content`."""
        end = min(start + ROWS_AT_ONCE, self.count)
        content, is_html = self._content(slice(start, end))
        there = pc.fill_null(pc.greater(pc.binary_length(content), 0), False)
        pages = pa.table(
            {
                "content": content,
                "is_html": is_html,
                "record": pa.array(np.arange(start, end)),
                "id": self._ids(start, end),
                "url": self._strings(self.urls, "urls", slice(start, end)),
                "title": self._strings(self.titles, "titles", slice(start, end)),
                "time": pa.nulls(end - start, TIME)
                if self.times is None
                else time_column(self.times[start:end], "times"),
            }
        )
        return pages if pc.all(there).as_py() else pages.filter(there)

    def _content(self, some: slice) -> tuple[pa.ChunkedArray, pa.Array]:
        count = some.stop - some.start
        if self.html is None:
            return text_column(self.text[some], "text"), pa.repeat(False, count)
        html = text_column(self.html[some], "html")
        if self.text is None:
            return html, pa.repeat(True, count)
        is_html = pc.fill_null(pc.greater(pc.binary_length(html), 0), False)
        text = text_column(self.text[some], "text")
        if html.type != text.type:  # bytes of any charset: those of strings are found to be UTF-8
            html, text = html.cast(pa.large_binary()), text.cast(pa.large_binary())
        return pc.if_else(is_html, html, text), is_html

    def _ids(self, start: int, end: int) -> pa.Array | pa.ChunkedArray:
        """The ids; without any, positions with leading zeros, which are in the order of rows."""
        if self.ids is None:
            positions = pa.array(np.arange(start, end)).cast(pa.string())
            return pc.utf8_lpad(positions, len(str(self.count)), "0")
        ids = to_column(self.ids[start:end], "ids").cast(pa.string())
        if ids.null_count:
            raise UsageError("a row has no id; omit `id` to identify rows by position")
        return ids

    @staticmethod
    def _strings(column: Values, what: str, some: slice) -> pa.Array | pa.ChunkedArray:
        if column is None:
            return pa.repeat("", some.stop - some.start)
        return pc.fill_null(text_column(column[some], what).cast(pa.string()), "")


class Duplicates:
    """Which rows duplicate which. Rows are known by their position, from 0.

    A row without text, or with too little of it to decide, is in a cluster of its own and kept.
    """

    def __init__(self, rows: int, positions: Numbers, outcome: Outcome | None) -> None:
        """`positions` are the rows of the pages of the outcome; the other rows are not pages."""
        self._positions = positions
        self._outcome = outcome
        self.kept: Numbers = np.arange(rows)
        """The row that is kept for each row: itself, or the one it is a duplicate of."""
        self.clusters: Numbers = np.arange(rows)
        """The number of each row's cluster: the position of the first row in it."""
        if outcome is not None:
            self.kept[positions] = positions[outcome.kept]
            first = np.full(len(outcome.labels), rows)
            np.minimum.at(first, outcome.labels, positions)
            self.clusters[positions] = first[outcome.labels]

    def __len__(self) -> int:
        return self.kept.size

    def __repr__(self) -> str:
        duplicates = int((~self.keep).sum())
        return f"<Duplicates: {len(self):,} rows, {duplicates:,} duplicates>"

    @property
    def keep(self) -> NDArray[np.bool_]:
        """Which rows to keep: one of each cluster."""
        return np.equal(self.kept, np.arange(len(self)))

    @cached_property
    def pairs(self) -> pa.Table:
        """The pairs of rows that have something in common: a, b, relation of a to b, similarity."""
        return self._pairs.select(["a", "b", "relation", "similarity"])

    def pairs_with_evidence(self) -> pa.Table:
        """`pairs` with the evidence for each verdict, as JSON. It is computed now."""
        evidence = pa.chunked_array([], pa.string())
        if (judged := self._judged) is not None:
            numbers = self._pairs["number"].to_numpy()
            if "evidence" in judged.verdicts.schema.names:
                verdicts = pa.Table.from_batches(judged.verdicts.each()).take(pa.array(numbers))
            else:
                pairs = judged.left[numbers], judged.right[numbers]
                steps = judge_in_steps(judged.method.relate, judged.features, *pairs)
                verdicts = pa.Table.from_batches(steps)
            evidence = verdicts["evidence"]
        return self.pairs.append_column("evidence", evidence)

    def explain(self, a: int, b: int) -> Verdict:
        """The verdict on any two rows, with its evidence."""
        for row in (a, b):
            if not 0 <= row < len(self):
                raise UsageError(f"there is no row {row}: rows go from 0 to {len(self) - 1}")
        places = np.flatnonzero(self._positions == a), np.flatnonzero(self._positions == b)
        if self._judged is None or not places[0].size or not places[1].size:
            empty = a if self._judged is None or not places[0].size else b
            return Verdict(Relation.UNDECIDED, None, {"why": f"row {empty} has no text"})
        [row] = self._judged.method.relate(self._judged.features, *places).to_pylist()
        return Verdict(Relation(row["relation"]), row["similarity"], json.loads(row["evidence"]))

    def to_arrow(self) -> pa.Table:
        """A row for each row: its cluster, whether it is kept, otherwise what it duplicates.

        `relation` and `similarity` are those to the kept row; a row that is kept has no similarity,
        and a relation only if it is undecided.
        """
        undecided = np.ones(len(self), bool)
        relation = np.full(len(self), None, object)
        similarity = np.full(len(self), np.nan)
        if self._outcome is not None:
            alone = self._outcome.is_alone
            undecided[self._positions] = ~self._outcome.judged.decidable & alone
            members = self._positions[~self._outcome.is_kept]
            to_kept = self._outcome.to_kept
            relation[members] = to_kept["relation"].to_pylist()
            similarity[members] = to_kept["similarity"].to_numpy()
        relation[undecided & self.keep] = str(Relation.UNDECIDED)
        return pa.table(
            {
                "cluster": self.clusters,
                "keep": self.keep,
                "duplicate_of": pa.array(self.kept, mask=self.keep),
                "relation": pa.array(relation, pa.string()),
                "similarity": pa.array(similarity, mask=np.isnan(similarity)),
            }
        )

    def to_pandas(self) -> Any:
        """The same as a pandas data frame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    @property
    def _judged(self) -> Judged | None:
        return None if self._outcome is None else self._outcome.judged

    @cached_property
    def _pairs(self) -> pa.Table:
        """`pairs`, and the number of each among all that were judged."""
        if (judged := self._judged) is None:
            return PAIRS.empty_table()
        related = np.flatnonzero(~np.isin(judged.relations, REJECTED))
        similarities = judged.similarities[related]
        columns = [
            self._positions[judged.left[related]],
            self._positions[judged.right[related]],
            pa.array(judged.relations[related], pa.string()),
            pa.array(similarities, mask=np.isnan(similarities)),
            related,
        ]
        return pa.table(columns, schema=PAIRS)


def find_in_memory(
    rows: Rows, method: Method, *, keep: str, contained: bool = False, workers: int | None = None
) -> Duplicates:
    """The duplicates among rows."""
    reuse_freed_memory()
    run = Run(None, sys.maxsize, workers or default_workers(), Stages(Silent()))
    columns = {"id", "text", *CARRIED, *method.columns}
    starts = range(0, rows.count, ROWS_AT_ONCE)
    parsed = ordered_map(lambda at: _parse(rows.pages(at), columns), starts, run.workers)
    pages = list(chain.from_iterable(parsed))
    if not pages:
        return Duplicates(rows.count, np.empty(0, np.int64), None)
    corpus = Corpus.from_pages(*pages)
    _check_distinct(corpus.ids)
    judged = judge(corpus, method, run, evidence=False)
    outcome = settle(judged, run, keep=keep, contained=contained)
    return Duplicates(rows.count, corpus.pages.numbers("record"), outcome)


def _check_distinct(ids: pa.Array) -> None:
    """Refuse ids that several rows have; they are in order."""
    repeated = ids[1:].filter(pc.equal(ids[1:], ids[:-1]))
    if len(repeated):
        raise UsageError(
            f"several rows have the id {repeated[0].as_py()!r}; omit `id` to identify rows by "
            "position"
        )


def _parse(pages: pa.Table, columns: set[str]) -> list[pa.RecordBatch]:
    """The pages parsed, in batches of bounded size, with the columns that are needed."""
    is_text = pa.types.is_large_string(pages.schema.field("content").type)
    is_plain = is_text and not pc.any(pages["is_html"]).as_py()
    return [
        _of_texts(batch, columns) if is_plain else _of_bodies(batch, is_text=is_text)
        for batch in _cut(pages)
    ]


def _of_texts(batch: pa.RecordBatch, columns: set[str]) -> pa.RecordBatch:
    about = {name: batch[name] for name in ("id", "record", "url", "title", "time")}
    pages = parse_texts(batch["content"], about, columns)
    return pages.append_column("observed", batch["time"].is_valid())


def _of_bodies(batch: pa.RecordBatch, *, is_text: bool) -> pa.RecordBatch:
    made = {
        "body": batch["content"].cast(pa.large_binary()),
        "again": pa.repeat("", batch.num_rows),
        "charset": pa.repeat("utf-8" if is_text else "", batch.num_rows),
        "source": pa.repeat("memory", batch.num_rows),
    }
    arrays = [made[name] if name in made else batch[name] for name in RAW.names]
    raw = pa.record_batch(arrays, schema=RAW)
    return with_derived(parse(raw), raw["time"].is_valid())


def _cut(pages: pa.Table) -> Iterator[pa.RecordBatch]:
    for batch in filter(len, pages.to_batches()):
        ends = np.cumsum(pc.binary_length(batch["content"]).to_numpy())
        size = ends[-1] // (ends[-1] // BYTES_AT_ONCE + 1) + 1  # pieces of about one size
        starts = np.flatnonzero(np.diff(ends // size, prepend=-1))
        for start, end in pairwise([*starts.tolist(), batch.num_rows]):
            yield batch.slice(start, end - start)
