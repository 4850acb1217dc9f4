"""Earlier decisions, of a result or in a store.

A `Prior` holds frozen features, the counts behind them, known verdicts, and clusters that keep
their names, separately from the pages (`corpus`). A result stores them in two kinds of files:

* `remembered.parquet` has one row per page, in the order of ids: its metadata and its features.
  Lists of numbers are stored as byte strings, because Parquet writes lists number by number.
* `survey.parquet` (and `site_survey.parquet`, for a method that needs both) has the counts behind
  the features.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.arrays import Mask, Numbers, offsets_of, pack_lists, unpack_lists
from neardup.errors import InputError, UsageError
from neardup.local.corpus import AT_HAND, Corpus
from neardup.local.exchange import (
    counts_of_spark,
    feature_numbers_of_spark,
    features_of_spark,
    is_of_spark,
)
from neardup.local.features import Features, kept_features
from neardup.local.result import PAGES_FILE, Result
from neardup.local.run import ordered_map
from neardup.local.work import Run
from neardup.methods.base import Method, assigner, evidence_json
from neardup.methods.registry import make_method, reference
from neardup.rules.candidates import distinct_pairs, packed
from neardup.rules.clusters import NEW
from neardup.schemas import COUNTS, FORMAT, VERDICTS

ROWS_AT_ONCE = 4096  # read at once
COUNTS_OF_A_GROUP = 1 << 18  # of a row group of a survey
REPEATED = ["canonical_url", "source"]  # columns with repeated values, worth a dictionary


@dataclass(frozen=True)
class KnownPairs:
    """Pairs with known verdicts, sorted, left < right."""

    left: Numbers
    right: Numbers
    verdicts: pa.Table

    def find(self, left: Numbers, right: Numbers) -> tuple[Mask, pa.Table]:
        """Which of these pairs are known, and the verdicts on those."""
        known = packed(self.left, self.right)
        pairs = packed(left, right)
        place = np.searchsorted(known, pairs)
        there = place < known.size
        there[there] = known[place[there]] == pairs[there]
        return there, self.verdicts.take(pa.array(place[there]))


@dataclass(frozen=True)
class Prior:
    """Earlier decisions about some pages of a corpus."""

    features: Features | None = None  # of pages without text in the corpus
    counts: Mapping[str, Iterable[pa.RecordBatch]] = field(default_factory=dict)
    pairs: KnownPairs | None = None
    labels: Numbers | None = None  # of every page: its cluster, or NEW
    kept: Numbers | None = None  # of every page: the page that its cluster keeps, or NEW

    @classmethod
    def from_result(
        cls, folder: Path, corpus: Corpus, numbers: Numbers, method: Method, run: Run
    ) -> Prior:
        """The decisions of a result; `numbers` are the numbers of its pages in the corpus."""
        rows = list(Result(folder).pages())
        of_spark = is_of_spark(folder)
        if of_spark:  # in several files
            rows.sort(key=lambda row: str(row["id"]))
        labels, kept = np.full(len(corpus), NEW), np.full(len(corpus), NEW)
        labels[numbers] = _numbers_of(corpus.ids, [row["cluster"] for row in rows])
        named = [row["duplicate_of"] or row["id"] for row in rows]
        kept[numbers] = _numbers_of(corpus.ids, named)
        batches = read_features(folder, method.row_schema)
        if of_spark:
            numbers = numbers[feature_numbers_of_spark(folder)]
        return cls(
            kept_features("earlier", batches, method, numbers, run),
            {
                name: read_survey(folder, file)
                for name, file in survey_files(method).items()
                if of_spark or (folder / file).exists()
            },
            _known_pairs(folder, corpus.ids),
            labels,
            kept,
        )

    def with_known(self, left: Numbers, right: Numbers) -> tuple[Numbers, Numbers]:
        """The candidates that involve a new page, and the known pairs, sorted."""
        if self.pairs is None or self.labels is None:
            return left, right
        seen = self.labels != NEW
        new = ~(seen[left] & seen[right])
        return distinct_pairs(
            np.concatenate([left[new], self.pairs.left]),
            np.concatenate([right[new], self.pairs.right]),
        )


def _known_pairs(folder: Path, ids: pa.Array) -> KnownPairs:
    rows = [*Result(folder).pairs(), *Result(folder).rejected()]
    left = _numbers_of(ids, [row["a"] for row in rows])
    right = _numbers_of(ids, [row["b"] for row in rows])
    verdicts = [{**row, "evidence": evidence_json(row["evidence"])} for row in rows]
    table = pa.Table.from_pylist(verdicts, schema=VERDICTS)
    order = np.lexsort((right, left))
    return KnownPairs(left[order], right[order], table.take(pa.array(order)))


def _numbers_of(ids: pa.Array, names: list[str]) -> Numbers:
    numbers: Numbers = pc.index_in(pa.array(names, pa.string()), ids).to_numpy().astype(np.int64)
    return numbers


# Whether a result can be used


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of an earlier result, which must be in the format of this version."""
    remembered = (folder / PAGES_FILE).is_file() or is_of_spark(folder)
    if not (folder / "summary.json").is_file() or not remembered:
        raise InputError(f"{folder} holds no result of an earlier run")
    summary = Result(folder).summary
    check_format(folder, summary)
    return summary


def check_format(folder: Path | str, summary: Mapping[str, Any], expected: int = FORMAT) -> None:
    """Reject a result of another format: its features and hashes differ in meaning."""
    written = summary.get("format", "none")
    if written != expected:
        inputs = " ".join(summary.get("inputs", []))
        raise InputError(
            f"{folder} was written in format {written} and this neardup reads format {expected}: "
            f"make it again with `neardup dedup {inputs} --out {folder}`"
        )


def check_method(folder: Path | str, summary: Mapping[str, Any], method: Method) -> None:
    """Reject a result made by another method, or with other options or another view."""
    earlier = method_of(summary)
    if _described(earlier) != _described(method):
        options = ", ".join(f"{name}={value}" for name, value in summary["options"].items())
        raise UsageError(
            f"{folder} was made with method {summary['method']} on the view {earlier.view} "
            f"({options}); use the same here"
        )


def method_of(summary: Mapping[str, Any]) -> Method:
    """The method that a result was made with."""
    view = summary.get("view")
    return make_method(summary["method"], summary["options"], view=view, stored=True)


def _described(method: Method) -> tuple[str, str, str]:
    options = json.dumps(dataclasses.asdict(method.options), sort_keys=True)
    return reference(method), method.view, options


def check_earlier(folder: Path, method: Method) -> None:
    """Check that this method can compare new pages with an earlier result."""
    summary = read_summary(folder)
    if assigner(method) is not None:
        raise UsageError(
            f"{method.name} decides against a growing state, which a result folder does not keep"
        )
    check_method(folder, summary, method)


# Files of a result


def survey_files(method: Method) -> dict[str, str]:
    """The files of a result with the counts of its surveys, by survey."""
    kinds = [("sites", method.site_counts), ("corpus", method.surveys)]
    present = [name for name, counted in kinds if counted is not None]
    files = ["survey.parquet", "site_survey.parquet"]
    return dict(zip(reversed(present), files, strict=False))


def write_survey(path: Path, counts: Iterator[pa.RecordBatch]) -> None:
    """Write the counts of a survey, in the order of their keys.

    Differences of sorted hashes do not shrink any further. Row groups are of one size, so the file
    does not depend on how the counts were cut.
    """
    with pq.ParquetWriter(
        path,
        COUNTS,
        compression={"key": "none", "count": "zstd"},
        use_dictionary=["count"],
        column_encoding={"key": "DELTA_BINARY_PACKED"},
    ) as writer:
        for batch in _of_one_size(counts, COUNTS_OF_A_GROUP):
            writer.write_batch(batch)


def _of_one_size(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The rows of all batches, in batches of so many; the last may have fewer."""
    held: list[pa.RecordBatch] = []
    room = rows
    for batch in batches:
        start = 0
        while batch.num_rows - start >= room:
            yield pa.concat_batches([*held, batch.slice(start, room)])
            start, room, held = start + room, rows, []
        held.append(batch.slice(start))
        room -= batch.num_rows - start
    if room < rows:
        yield pa.concat_batches(held)


def read_survey(folder: Path, file: str) -> Iterator[pa.RecordBatch]:
    """Read the counts of a survey, in the order of their keys."""
    if is_of_spark(folder):
        return counts_of_spark(folder, Path(file).stem)
    batches: Iterator[pa.RecordBatch] = pq.ParquetFile(folder / file).iter_batches()
    return batches


class GroupSizes(NamedTuple):
    """Limits on what is written at once: rows, and approximate bytes of features."""

    rows: int = ROWS_AT_ONCE  # of a row group
    group_bytes: int = 32_000_000  # of a row group
    taken_bytes: int = 32_000_000  # brought into the order of pages at once

    def within(self, memory: int) -> GroupSizes:
        """The same with less taken at once if memory is short; several times as much is waiting to
        be written."""
        return self._replace(taken_bytes=min(self.taken_bytes, memory // TAKEN_SHARE))


GROUP_SIZES, TAKEN_SHARE = GroupSizes(), 64
TAKING = 2  # threads, at most, that bring features into order: one writes them


def write_pages(
    folder: Path,
    corpus: Corpus,
    features: Features,
    sizes: GroupSizes = GROUP_SIZES,
    workers: int = 1,
) -> None:
    """Write every page of a run with its features."""
    schema = _page_schema(features)
    options = {"use_dictionary": REPEATED, "compression": _compression(schema, features)}
    starts = _taken_together(features, sizes)
    with pq.ParquetWriter(folder / PAGES_FILE, schema, **options) as writer:
        for groups in ordered_map(partial(_row_groups, features), starts, min(workers, TAKING)):
            for start, taken in groups:
                here = np.arange(start, start + taken.num_rows)
                pages = corpus.pages.take(here, AT_HAND.names)
                packed = pack_lists(taken, features.number_lists).to_struct_array()
                writer.write_batch(pa.record_batch([*pages.columns, packed], schema=schema))


def _compression(schema: pa.Schema, features: Features) -> dict[str, str]:
    """How each column of `remembered.parquet` is compressed. Lists of hashes, which are nearly all
    of it, do not shrink; trying takes as long as all other work on them."""
    hashes = {
        f"features.{name}"
        for name in features.number_lists
        if features.schema.field(name).type.value_type in (pa.uint32(), pa.uint64())
    }
    columns = (column for field in schema for column in _columns(field.name, field.type))
    return {column: "none" if column in hashes else "zstd" for column in columns}


def _columns(name: str, kind: pa.DataType) -> Iterator[str]:
    """The columns that Parquet makes of one, by its names for them."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _columns(f"{name}.{field.name}", field.type)
    elif pa.types.is_nested(kind):
        yield from _columns(f"{name}.list.element", kind.value_type)
    else:
        yield name


def read_features(folder: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Read the features of all pages, in the order of ids; of Spark's files where it wrote them."""
    if is_of_spark(folder):
        yield from features_of_spark(folder, schema)
        return
    lists = [field.name for field in schema if pa.types.is_list(field.type)]
    file = pq.ParquetFile(folder / PAGES_FILE)
    for batch in file.iter_batches(ROWS_AT_ONCE, columns=["features"]):
        stored = pa.RecordBatch.from_struct_array(batch["features"])
        as_bytes = [name for name in lists if pa.types.is_large_binary(stored[name].type)]
        yield unpack_lists(stored, schema, as_bytes)


def _page_schema(features: Features) -> pa.Schema:
    """The columns of `remembered.parquet`: id, metadata, features."""
    fields = [
        pa.field(each.name, pa.large_binary()) if each.name in features.number_lists else each
        for each in features.schema
    ]
    return pa.schema(
        [
            *AT_HAND,
            pa.field("features", pa.struct(fields), nullable=False),
        ]
    )


def _taken_together(features: Features, sizes: GroupSizes) -> Iterator[Numbers]:
    """Where the row groups start that are taken together, and where the last of them ends.

    As many pages as memory allows are taken together, because they may be spread over all parts.
    """
    total = offsets_of(features.row_bytes)
    starts = _group_starts(total, sizes)
    first = 0
    while first < len(starts) - 1:
        most = total[starts[first]] + sizes.taken_bytes
        last = max(first + 1, int(np.searchsorted(total[starts], most, "right")) - 1)
        yield starts[first : last + 1]
        first = last


def _row_groups(features: Features, starts: Numbers) -> list[tuple[int, pa.RecordBatch]]:
    """The features of each row group in the order of pages, with the first page number."""
    first, *_ = bounds = starts.tolist()
    taken = features.take(np.arange(first, bounds[-1]))
    return [(start, taken.slice(start - first, end - start)) for start, end in pairwise(bounds)]


def _group_starts(total: Numbers, sizes: GroupSizes) -> Numbers:
    """Where row groups start: after so many rows or, where pages are large, so many bytes."""
    count = total.size - 1
    starts = [np.zeros(1, np.int64)]
    for first in range(0, count, sizes.rows):
        group = (total[first : min(first + sizes.rows, count)] - total[first]) // sizes.group_bytes
        starts.append(first + np.flatnonzero(np.diff(group, prepend=-1 if first else 0)))
    return np.concatenate([*starts, [count]])
