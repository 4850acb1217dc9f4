"""The files a run leaves behind: every page once, every judged pair, every skip, and a summary."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.engines.json_lines import json_lines
from neardup.engines.stages import Stage
from neardup.errors import OutputError

Format = Literal["jsonl", "parquet"]

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


def check_destination(out: Path) -> None:
    """Refuse to replace anything but an earlier result of ours."""
    if out.is_file():
        raise OutputError(f"{out} is a file; --out names a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "summary.json").is_file():
        raise OutputError(f"{out} is not empty and holds no earlier result; name another folder")


def make_empty(folder: Path) -> None:
    """A folder with nothing of an earlier attempt in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def write_rows(
    path: Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    format: Format,  # noqa: A002 - the name of the command-line option
    stage: Stage,
) -> None:
    """Write `path` with the format's ending."""
    target = path.with_suffix(f".{format}")
    write = _write_parquet if format == "parquet" else _write_lines
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


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """The summary, for people and programs."""
    path = folder / "summary.json"
    path.write_text(json.dumps(summary, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def put_in_place(result: Path, out: Path) -> None:
    """Make `result` appear as `out` whole; an earlier result there goes only then."""
    earlier = result.with_name(result.name + ".earlier")
    if out.exists():
        out.rename(earlier)
    result.rename(out)
    shutil.rmtree(earlier, ignore_errors=True)


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Turn the system's refusals into one clear line."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise OutputError(f"cannot write {what}: {reason}") from error


def read_rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """The rows of one file of a result, whichever format it was written in."""
    lines = folder / f"{name}.jsonl"
    if lines.exists():
        with lines.open(encoding="utf-8") as file:
            yield from map(json.loads, file)
        return
    for path in _parquet_files(folder / f"{name}.parquet"):
        for batch in pq.ParquetFile(path).iter_batches():
            yield from map(_with_parsed_evidence, batch.to_pylist())


def _parquet_files(path: Path) -> list[Path]:
    """The file, or the files of a folder: several machines write one each."""
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _with_parsed_evidence(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "evidence": json.loads(row["evidence"])} if "evidence" in row else row
