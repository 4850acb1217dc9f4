"""Whether what an earlier result remembers can be used again.

What a result remembers of its pages, so that later runs need not read them again.

`remembered.parquet` has a row a page, in the order of ids: its record and its features. Lists of
numbers are byte strings there: Parquet writes and reads lists number by number, with two levels for
each.
`survey.parquet` has the counts behind the features, for a method that surveys.

An earlier result, taken up again: its pages, features, clusters and verdicts.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from neardup.arrays import pack, unpack
from neardup.errors import InputError, UsageError
from neardup.local.corpus import KEPT_COLUMNS, Spilled
from neardup.local.features import Features, Rows, mapped_features
from neardup.local.result import Result
from neardup.local.work import Run
from neardup.methods.base import DecidesInOrder, Method, evidence_json
from neardup.model import Skip, SkipReason, Source
from neardup.rules.candidates import distinct_pairs, packed
from neardup.rules.clusters import NEW
from neardup.schemas import COUNTS, FORMAT, PAGES, VERDICTS


def check_format(folder: Path | str, summary: Mapping[str, Any]) -> None:
    """Features and hashes that another version wrote mean something else."""
    written = summary.get("format", "none")
    if written != FORMAT:
        raise InputError(
            f"{folder} was written in format {written} and this neardup reads format {FORMAT}: "
            "use the neardup that wrote it, or make the result again"
        )


def check_method(folder: Path | str, summary: Mapping[str, Any], method: Method) -> None:
    """A result can be taken up by the same method with the same options only."""
    options = json.loads(json.dumps(dataclasses.asdict(method.options)))
    if (summary["method"], summary["options"]) != (method.name, options):
        told = ", ".join(f"{name}={value}" for name, value in summary["options"].items())
        raise UsageError(
            f"{folder} was made with method {summary['method']} ({told}); use the same here"
        )


PAGES_FILE = "remembered.parquet"
SURVEY_FILE = "survey.parquet"
ROWS_AT_ONCE = 4096
REPEATED = ["canonical_url", "source"]  # columns whose values repeat; features are hashes
TAKEN_BYTES = 64_000_000  # of features that are put in order at once, about


def _schema(features: Features) -> pa.Schema:
    """Id, record, features."""
    return pa.schema(
        [
            PAGES.field("id"),
            *(PAGES.field(name) for name in KEPT_COLUMNS),
            pa.field("length", pa.int64()),
            pa.field("features", pa.struct(list(_packed_schema(features))), nullable=False),
        ]
    )


def _packed_schema(features: Features) -> pa.Schema:
    packed = features.number_lists
    return pa.schema(
        [
            (each.name, pa.large_binary()) if each.name in packed else each
            for each in features.schema
        ]
    )


def write_remembered(folder: Path, spilled: Spilled, features: Features) -> None:
    """Remember every page of a run."""
    options = {"use_dictionary": REPEATED, "compression": "zstd"}
    with pq.ParquetWriter(folder / PAGES_FILE, _schema(features), **options) as writer:
        for batch in _rows(spilled, features):
            writer.write_batch(batch)


def read_remembered(folder: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The features of all pages, in the order of ids, as they were."""
    lists = [field.name for field in schema if pa.types.is_list(field.type)]
    file = pq.ParquetFile(folder / PAGES_FILE)
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=["features"]):
        stored = pa.RecordBatch.from_struct_array(batch["features"])
        packed = [name for name in lists if pa.types.is_large_binary(stored[name].type)]
        yield unpack(stored, schema, packed)


def _rows(spilled: Spilled, features: Features) -> Iterator[pa.RecordBatch]:
    schema = _schema(features)
    for start, taken in _features_in_order(features):
        here = slice(start, start + ROWS_AT_ONCE)
        columns = {
            "id": spilled.ids[here],
            **{name: spilled.pages[name][here].combine_chunks() for name in KEPT_COLUMNS},
            "length": spilled.pages["length"][here].combine_chunks(),
            "features": pack(taken, features.number_lists).to_struct_array(),
        }
        yield pa.record_batch(columns, schema=schema)


def _features_in_order(features: Features) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The features of ROWS_AT_ONCE pages after another, and the number of the first.

    As many as memory allows are taken together: the pages of each may lie in all parts.
    """
    together = -(-features.rows_within(TAKEN_BYTES) // ROWS_AT_ONCE) * ROWS_AT_ONCE
    numbers = np.arange(len(features))
    for first in range(0, len(features), together):
        taken = features.take(numbers[first : first + together])
        for start in range(0, taken.num_rows, ROWS_AT_ONCE):
            yield first + start, taken[start : start + ROWS_AT_ONCE]


def write_survey(folder: Path, counts: Iterator[pa.RecordBatch]) -> None:
    """Remember the counts of a survey."""
    options = {"use_dictionary": ["count"], "column_encoding": {"key": "DELTA_BINARY_PACKED"}}
    with pq.ParquetWriter(folder / SURVEY_FILE, COUNTS, compression="zstd", **options) as writer:
        for batch in counts:
            writer.write_batch(batch)


@dataclass(frozen=True)
class Known:
    """Pairs that have their verdict already, in order, left < right."""

    left: Rows
    right: Rows
    verdicts: pa.Table


@dataclass(frozen=True)
class Earlier:
    """The pages of an earlier result among those of this run, by their numbers in this run."""

    folder: Path
    numbers: Rows  # of each earlier page, in the order of the earlier result
    labels: Rows  # of every page: its earlier cluster, or NEW
    kept: Rows  # of every page: the page its earlier cluster keeps, or NEW

    def survey_batches(self) -> Iterator[pa.RecordBatch]:
        """The counts behind the earlier features."""
        path = self.folder / SURVEY_FILE
        if path.exists():
            yield from pq.ParquetFile(path).iter_batches()

    def known_pairs(self, ids: pa.Array) -> Known:
        """The verdicts of the earlier run."""
        rows = [*Result(self.folder).pairs(), *Result(self.folder).rejected()]
        left = _numbers_of(ids, [row["a"] for row in rows])
        right = _numbers_of(ids, [row["b"] for row in rows])
        verdicts = [{**row, "evidence": evidence_json(row["evidence"])} for row in rows]
        table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
        order = np.lexsort((right, left))
        return Known(left[order], right[order], table.take(pa.array(order)))


def with_known(
    left: Rows, right: Rows, known: Known, *, seen: NDArray[np.bool_]
) -> tuple[Rows, Rows]:
    """The candidates with a new page in them, and the pairs that are known, in order."""
    new = ~(seen[left] & seen[right])
    return distinct_pairs(
        np.concatenate([left[new], known.left]), np.concatenate([right[new], known.right])
    )


Judge = Callable[[Rows, Rows], pa.RecordBatch]


def judging_the_rest(judge: Judge, known: Known) -> Judge:
    """`judge` for pairs that are not known; the others have their verdict."""
    known_pairs = packed(known.left, known.right)

    def judge_or_recall(left: Rows, right: Rows) -> pa.RecordBatch:
        pairs = packed(left, right)
        place = np.searchsorted(known_pairs, pairs)
        there = place < known_pairs.size
        there[there] = known_pairs[place[there]] == pairs[there]
        recalled = known.verdicts.take(pa.array(place[there]))
        judged = pa.Table.from_batches([judge(left[~there], right[~there])])
        order = np.argsort(np.concatenate([np.flatnonzero(there), np.flatnonzero(~there)]))
        both = pa.concat_tables([recalled, judged]).take(pa.array(order)).combine_chunks()
        return both.to_batches()[0]

    return judge_or_recall


def earlier_summary(folder: Path) -> dict[str, Any]:
    """The summary of an earlier result, which must remember its pages as this version does."""
    if not (folder / "summary.json").is_file() or not (folder / PAGES_FILE).is_file():
        raise InputError(f"{folder} holds no result of an earlier run")
    summary = Result(folder).summary
    check_format(folder, summary)
    return summary


def check_earlier(folder: Path, method: Method) -> None:
    """Whether an earlier result can be taken up by this method."""
    summary = earlier_summary(folder)
    if isinstance(method, DecidesInOrder):
        raise UsageError(
            f"{method.name} decides against a growing state, which a result folder does not hold"
        )
    check_method(folder, summary, method)


def among_earlier(spilled: Spilled, folder: Path) -> tuple[Spilled, Earlier]:
    """All pages, earlier and new, numbered anew; a new page with an earlier id is skipped."""
    remembered = pq.read_table(folder / PAGES_FILE, columns=["id", *spilled.pages.column_names])
    old_ids = remembered["id"].combine_chunks()
    fresh = pc.invert(pc.is_in(spilled.ids, old_ids))
    new_rows = np.flatnonzero(fresh.to_numpy(zero_copy_only=False))
    ids = pa.concat_arrays([old_ids, spilled.ids.take(pa.array(new_rows))])
    pages = pa.concat_tables(
        [remembered.drop_columns(["id"]), spilled.pages.take(pa.array(new_rows))]
    )
    order = pc.array_sort_indices(ids).to_numpy().astype(np.int64)
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    renumbered = np.full(len(spilled.ids), NEW)
    renumbered[new_rows] = number[len(old_ids) :]
    merged = Spilled(
        spilled.parts,
        [np.where(each >= 0, renumbered[each], NEW) for each in spilled.numbers],
        ids.take(pa.array(order)),
        pages.take(pa.array(order)),
        [*spilled.skips, *_seen_before(spilled, fresh)],
    )
    return merged, _earlier(folder, merged.ids, number[: len(old_ids)])


def _seen_before(spilled: Spilled, fresh: pa.Array) -> Iterator[Skip]:
    for row in np.flatnonzero(~fresh.to_numpy(zero_copy_only=False)).tolist():
        place = Source(spilled.pages["source"][row].as_py(), spilled.pages["record"][row].as_py())
        detail = "the earlier result has this id"
        yield Skip(place, SkipReason.DUPLICATE_ID, detail, spilled.ids[row].as_py())


def _earlier(folder: Path, ids: pa.Array, numbers: Rows) -> Earlier:
    rows: list[dict[str, Any]] = list(Result(folder).pages())
    labels, kept = np.full(len(ids), NEW), np.full(len(ids), NEW)
    labels[numbers] = _numbers_of(ids, [row["cluster"] for row in rows])
    kept[numbers] = _numbers_of(ids, [row["duplicate_of"] or row["id"] for row in rows])
    return Earlier(folder, numbers, labels, kept)


def _numbers_of(ids: pa.Array, names: list[str]) -> NDArray[np.int64]:
    found: Rows = pc.index_in(pa.array(names, pa.string()), ids).to_numpy().astype(np.int64)
    return found


def with_earlier_features(method: Method, new: Features, earlier: Earlier, run: Run) -> Features:
    """The features of all pages."""
    old = remembered_features(earlier.folder, method, earlier.numbers, run)
    return Features(
        method.feature_schema,
        [*new.batches, *old.batches],
        [*new.pages, *old.pages],
        [*new.maps, *old.maps],
    )


def remembered_features(folder: Path, method: Method, numbers: Rows, run: Run) -> Features:
    """The features that a result remembers, unpacked into the work folder."""
    parts = run.parts("earlier", method.feature_schema, compressed=False)
    batches = read_remembered(folder, method.feature_schema)
    with run.stages("earlier", total=numbers.size) as stage:
        parts.fill(batches, lambda batch: (batch, 0), 1, stage)
    cuts = np.cumsum([part.rows for part in parts.listed])[:-1]
    paths = [parts.path(part.number) for part in parts.listed]
    return mapped_features(method.feature_schema, paths, np.split(numbers, cuts))
