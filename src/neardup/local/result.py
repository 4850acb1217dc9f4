"""The files of a result: every page, every judged pair, every skip, and a summary.

They are written and read here (`Result`). Tables become lines of JSON column by column, because a
result has as many rows as there are pages and pairs.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv

from neardup.arrays import Numbers, string_array, string_buffers
from neardup.errors import OutputError
from neardup.kernels.json_text import quoted_texts
from neardup.local.run import Stage
from neardup.model import Cluster
from neardup.pages.inputs import input_at
from neardup.pages.writers import check_name

Format = Literal["jsonl", "parquet", "csv", "xlsx"]

PAGES_FILE = "remembered.parquet"  # the data of every page for later runs; see `prior`

CLUSTERS = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("kept", pa.bool_(), nullable=False),
        pa.field("duplicate_of", pa.string()),
        pa.field("similarity", pa.float64()),
        pa.field("relation", pa.string()),  # to the kept page; "undecided" alone: too little text
    ]
)

PAIRS = pa.schema(
    [
        pa.field("a", pa.string(), nullable=False),
        pa.field("b", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("similarity", pa.float64()),
        pa.field("evidence", pa.string(), nullable=False),
    ]
)

SKIPPED = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("record", pa.int64(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)


TABLES = {"clusters": CLUSTERS, "pairs": PAIRS, "rejected": PAIRS, "skipped": SKIPPED}


def check_outputs(
    out: Path, write_kept: Path | None, inputs: Sequence[str], *, force: bool
) -> None:
    """Check before the first page is read that the results of a run can be written.

    An input is never written; what exists is replaced only with `force`.
    """
    check_destination(out, force=force)
    _check_no_input(out, inputs)
    if write_kept is not None:
        check_kept(write_kept, inputs, force=force)


def _check_no_input(path: Path, inputs: Sequence[str]) -> None:
    read = input_at(path, inputs)
    if read is not None:
        raise OutputError(f"{path} would overwrite the input {read}; choose another path")


def check_kept(write_kept: Path, inputs: Sequence[str], *, force: bool) -> None:
    """Check that the kept pages can be written to a file."""
    _check_no_input(write_kept, inputs)
    check_name(write_kept)
    if write_kept.is_dir():
        raise OutputError(f"{write_kept} is a folder; --write-kept names a file")
    if not write_kept.parent.is_dir():
        raise OutputError(f"there is no folder {write_kept.parent} for --write-kept")
    if not os.access(write_kept.parent, os.W_OK):
        raise OutputError(f"cannot write to the folder {write_kept.parent}")
    if write_kept.exists() and not force:
        raise OutputError(f"{write_kept} exists; use --force to replace it")


def check_destination(out: Path, *, force: bool = True) -> None:
    """Refuse to replace anything but an earlier result of ours, and that without `force`."""
    if out.is_file():
        raise OutputError(f"{out} is a file; --out names a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "summary.json").is_file():
        raise OutputError(f"{out} is not empty and holds no earlier result; choose another folder")
    if (out / "summary.json").is_file() and not force:
        raise OutputError(
            f"{out} holds an earlier result; use --force to replace it, or another --out"
        )
    above = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise OutputError(f"cannot write to {above}, where {out} should be")


def make_empty(folder: Path) -> None:
    """Make an empty directory, without leftovers of an earlier attempt."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def write_rows(
    path: Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    format: Format,  # noqa: A002 - the name of the command-line option
    stage: Stage,
) -> None:
    """Write a table to `path`, with the extension of its format.

    Of a result in xlsx the tables are lines of JSON, for later runs; the workbook is for people.
    """
    target = path.with_suffix(f".{'jsonl' if format == 'xlsx' else format}")
    write = {"parquet": _write_parquet, "csv": write_csv}.get(format, _write_lines)
    rows = write(target, schema, batches)
    stage.advance(rows, target.stat().st_size)


def _write_parquet(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def _write_lines(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    rows = 0
    with path.open("wb") as file:
        for batch in batches:
            file.writelines(json_lines(batch, ready=("evidence",)))
            rows += batch.num_rows
    return rows


# What a spreadsheet takes for the beginning of a formula, and the sign that marks a cell as text.
FORMULA = r"^[=+\-@\t\r\n']"
TEXT_SIGN = "'"
BOM = b"\xef\xbb\xbf"  # without it Excel does not read UTF-8


def write_csv(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> int:
    """A table for spreadsheets: cells that they would run as formulas begin with a quote sign."""
    rows = 0
    with path.open("wb") as file:
        file.write(BOM)
        with csv.CSVWriter(file, schema, write_options=csv.WriteOptions()) as writer:
            for batch in batches:
                columns = [_harmless(column) for column in batch.columns]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                rows += batch.num_rows
    return rows


def _harmless(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type):
        return column
    runs = pc.match_substring_regex(column, FORMULA)
    return pc.if_else(runs, pc.binary_join_element_wise(TEXT_SIGN, column, ""), column)


def _read_csv(path: Path, schema: pa.Schema) -> Iterator[dict[str, Any]]:
    options = csv.ConvertOptions(
        column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, convert_options=options, parse_options=parsing) as reader:
        for batch in reader:
            columns = [
                pc.replace_substring_regex(column, f"^{TEXT_SIGN}", "")
                if pa.types.is_string(column.type)
                else column
                for column in batch.columns
            ]
            read = pa.record_batch(columns, names=batch.schema.names)
            yield from map(_with_parsed_evidence, read.to_pylist())


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """The summary, for people and programs."""
    path = folder / "summary.json"
    path.write_text(json.dumps(summary, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def put_in_place(result: Path, out: Path) -> None:
    """Move the complete `result` to `out`; an earlier result is removed only then."""
    earlier = result.with_name(result.name + ".earlier")
    if out.exists():
        out.rename(earlier)
    result.rename(out)
    shutil.rmtree(earlier, ignore_errors=True)


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Turn errors of the operating system into one clear message."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        refused = OutputError(f"cannot write {what}: {reason}")
        for note in getattr(error, "__notes__", []):
            refused.add_note(note)
        raise refused from error


def read_rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of a result, whichever format it was written in."""
    lines = folder / f"{name}.jsonl"
    if lines.exists():
        with lines.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
        return
    if (table := folder / f"{name}.csv").exists():
        yield from _read_csv(table, TABLES[name])
        return
    for path in _parquet_files(folder / f"{name}.parquet"):
        for batch in pq.ParquetFile(path).iter_batches():
            yield from map(_with_parsed_evidence, batch.to_pylist())


def _parquet_files(path: Path) -> list[Path]:
    """The file, or the files of a directory: Spark writes one per task."""
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _with_parsed_evidence(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "evidence": json.loads(row["evidence"])} if "evidence" in row else row


class Result:
    """The result of `dedup`. Rows are read from its files on demand."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        fields: dict[str, Any] = json.loads((self.folder / "summary.json").read_text("utf-8"))
        return fields

    def pages(self) -> Iterator[dict[str, Any]]:
        """Every page with its cluster, whether it is kept, and what it duplicates."""
        return read_rows(self.folder, "clusters")

    def pairs(self) -> Iterator[dict[str, Any]]:
        """The judged pairs that have something in common, with the evidence."""
        return read_rows(self.folder, "pairs")

    def rejected(self) -> Iterator[dict[str, Any]]:
        """The candidates that failed, with the reason."""
        return read_rows(self.folder, "rejected")

    def skipped(self) -> Iterator[dict[str, Any]]:
        """The records that did not become a page."""
        return read_rows(self.folder, "skipped")

    def clusters(self) -> list[Cluster]:
        """Every cluster, those of one page too, by name."""
        members: defaultdict[str, list[str]] = defaultdict(list)
        kept: dict[str, str] = {}
        for page in self.pages():
            members[page["cluster"]].append(page["id"])
            if page["kept"]:
                kept[page["cluster"]] = page["id"]
        return [Cluster(name, kept[name], tuple(ids)) for name, ids in members.items()]

    def kept(self) -> list[str]:
        """The ids of the pages to keep."""
        return [page["id"] for page in self.pages() if page["kept"]]


LARGEST = 2**28  # bytes written at once: an Arrow string column holds 2**31, after escaping
NOTHING = np.empty(0, np.uint8)


def json_lines(
    batch: pa.RecordBatch, ready: tuple[str, ...] = (), *, largest: int = LARGEST
) -> Iterator[memoryview]:
    """Each row as `json.dumps(row, ensure_ascii=False)` writes it, and a line end.

    The columns named in `ready` are JSON already and are written unchanged.
    """
    step = max(batch.num_rows * largest // max(batch.nbytes, largest), 1)
    for start in range(0, batch.num_rows, step):
        yield _lines(batch.slice(start, step), ready)


def _lines(batch: pa.RecordBatch, ready: tuple[str, ...]) -> memoryview:
    parts: list[pa.Array | str] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        parts += [f'{", " if parts else "{"}"{name}": ']
        parts += [column if name in ready else json_values(column)]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    data, offsets = string_buffers(lines)
    return data[offsets[0] : offsets[-1]].data


def json_values(column: pa.Array) -> pa.StringArray:
    """A column as JSON."""
    if pa.types.is_string(column.type):
        written = _quoted(column)
    elif pa.types.is_boolean(column.type):
        written = pc.if_else(column, "true", "false")
    elif pa.types.is_floating(column.type):
        encoded = column.dictionary_encode()
        written = _shortest(encoded.dictionary).take(encoded.indices)
    else:
        written = column.cast(pa.string())
    return pc.if_else(column.is_valid(), written, "null") if column.null_count else written


def _shortest(numbers: pa.DoubleArray) -> pa.StringArray:
    """Each number as Python writes it. Arrow writes those between 0.0001 and 1 in the same way."""
    plain = pc.and_(pc.greater_equal(numbers, 1e-4), pc.less(numbers, 1.0))
    others = pc.invert(plain)
    written = [repr(number) for number in numbers.filter(others).to_pylist()]
    return pc.replace_with_mask(numbers.cast(pa.string()), others, pa.array(written, pa.string()))


def _quoted(column: pa.StringArray) -> pa.StringArray:
    data, offsets = string_buffers(column)
    return json_strings(data, offsets[:-1], np.diff(offsets))


def json_strings(data: NDArray[np.uint8], firsts: Numbers, sizes: Numbers) -> pa.StringArray:
    """Stretches of UTF-8 as JSON; an empty one where the size is below 0."""
    addresses = np.uint64(data.ctypes.data) + firsts.astype(np.uint64)
    return string_array(*quoted_texts(addresses, sizes, NOTHING))
