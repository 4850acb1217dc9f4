"""Earlier decisions, of a result or in a store.

A `Prior` holds frozen features, the counts behind them, known verdicts, and clusters that keep
their names, separately from the pages (`corpus`). A result stores them in these files:

* `remembered.parquet` has one row per page, in the order of ids: its metadata, and the row of its
  features. These are in `features/`, in the order in which the pages were read: the very files of
  the run, mapped into memory when they are used.
* `survey.parquet` (and `site_survey.parquet`, for a method that needs both) has the counts behind
  the features.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neardup.arrays import Mask, Numbers, found_in
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
from neardup.local.work import PartFile, Run, write_batch
from neardup.methods.base import Method, assigner, evidence_json
from neardup.methods.registry import make_method, reference
from neardup.rules.candidates import distinct_pairs, packed
from neardup.rules.clusters import NEW
from neardup.schemas import COUNTS, FORMAT, VERDICTS

FEATURES = "features"  # a folder, and a column of `remembered.parquet`
PAGES_OF_A_GROUP = 1 << 16  # of a row group of `remembered.parquet`
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
        there, places = found_in(packed(self.left, self.right), packed(left, right))
        return there, self.verdicts.take(pa.array(places))


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
        return cls(
            _features_of(folder, numbers[_feature_numbers(folder)], method, run),
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


def _features_of(folder: Path, numbers: Numbers, method: Method, run: Run) -> Features:
    """The features of a result; `numbers` are those of their pages. Of Spark's they are copied."""
    if is_of_spark(folder):
        batches = features_of_spark(folder, method.row_schema)
        return kept_features("earlier", batches, method, numbers, run)
    mapped, files = _mapped(folder, method.row_schema)
    ends = np.cumsum([0, *(batch.num_rows for batch in mapped)])
    if ends[-1] != numbers.size:
        raise InputError(f"{folder} is damaged: parts of {FEATURES}/ are missing; make it again")
    return Features(method.row_schema, mapped, np.split(numbers, ends[1:-1]), files)


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
    of_spark = is_of_spark(folder)
    remembered = (folder / PAGES_FILE).is_file() or of_spark
    if not (folder / "summary.json").is_file() or not remembered:
        raise InputError(f"{folder} holds no result of an earlier run")
    summary = Result(folder).summary
    check_format(folder, summary)
    if not (folder / FEATURES).is_dir() and not of_spark:
        raise InputError(f"{folder} has no folder {FEATURES}: {_make_again(folder, summary)}")
    return summary


def check_format(folder: Path | str, summary: Mapping[str, Any], expected: int = FORMAT) -> None:
    """Reject a result of another format: its features and hashes differ in meaning."""
    written = summary.get("format", "none")
    if written != expected:
        raise InputError(
            f"{folder} was written in format {written} and this neardup reads format {expected}: "
            f"{_make_again(folder, summary)}"
        )


def _make_again(folder: Path | str, summary: Mapping[str, Any]) -> str:
    inputs = " ".join(summary.get("inputs", []))
    return f"make it again with `neardup dedup {inputs} --out {folder}`"


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


def write_pages(folder: Path, corpus: Corpus, features: Features) -> None:
    """Write every page of a run, and where its features are."""
    schema = pa.schema([*AT_HAND, (FEATURES, pa.int64())])
    rows = features.positions()
    with pq.ParquetWriter(
        folder / PAGES_FILE, schema, use_dictionary=REPEATED, compression="zstd"
    ) as writer:
        for start in range(0, len(corpus), PAGES_OF_A_GROUP):
            here = np.arange(start, min(start + PAGES_OF_A_GROUP, len(corpus)))
            pages = corpus.pages.take(here, AT_HAND.names)
            writer.write_batch(pa.record_batch([*pages.columns, rows[here]], schema=schema))


def write_features(folder: Path, features: Features, workers: int = 1) -> None:
    """Put the features into a folder of their own: a second name for each file that is there, in
    the work folder or in an earlier result, so that they are written once."""
    target = folder / FEATURES
    target.mkdir()

    def put(number: int) -> None:
        path, file = target / f"{number:09d}.arrow", features.files[number]
        if file is None:
            write_batch(path, features.batches[number])
            return
        try:
            path.hardlink_to(file.path)
        except OSError:  # on another disk, or on one that does not know such names
            shutil.copyfile(file.path, path)

    for _ in ordered_map(put, range(len(features.batches)), workers):
        pass


def read_features(folder: Path, schema: pa.Schema) -> Iterator[tuple[Numbers, pa.RecordBatch]]:
    """Read the features of all pages, with the page numbers, in any order."""
    of_spark = is_of_spark(folder)
    numbers, first = _feature_numbers(folder), 0
    for batch in features_of_spark(folder, schema) if of_spark else _mapped(folder, schema)[0]:
        yield numbers[first : first + batch.num_rows], batch
        first += batch.num_rows


def _feature_numbers(folder: Path) -> Numbers:
    """The page number of each row of features, in the order of the files."""
    if is_of_spark(folder):
        return feature_numbers_of_spark(folder)
    rows = pq.read_table(folder / PAGES_FILE, columns=[FEATURES])[FEATURES].to_numpy()
    return np.asarray(np.argsort(rows), np.int64)


def _mapped(folder: Path, schema: pa.Schema) -> tuple[list[pa.RecordBatch], list[PartFile]]:
    """The features of a result, in the order in which it read its pages."""
    files = [PartFile.of(path) for path in sorted((folder / FEATURES).glob("*.arrow"))]
    batches = [file.batch() for file in files]
    for batch, file in zip(batches, files, strict=True):
        batch.validate(full=True)  # kernels read what the offsets say
        if batch.schema != schema:
            raise InputError(f"{file.path} is damaged: it has other columns")
        file.release()
    return batches, files
