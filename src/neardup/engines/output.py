"""The files a run leaves behind: every page once, every judged pair, every skip, and a summary."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from neardup.engines.stages import Stages
from neardup.errors import OutputError

Format = Literal["jsonl", "parquet"]
ROWS_AT_ONCE = 8192

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


def write_tables(
    folder: Path,
    tables: Mapping[str, pa.Table],
    format: Format,  # noqa: A002 - the name of the command-line option
    stages: Stages,
) -> None:
    """Write each table under its name."""
    folder.mkdir()
    with stages("write") as stage:
        for name, table in tables.items():
            stage.advance(table.num_rows, _write_table(folder / name, table, format))


def _write_table(path: Path, table: pa.Table, format: Format) -> int:  # noqa: A002
    """Write `path` with the format's ending; gives the bytes written."""
    target = path.with_suffix(f".{format}")
    if format == "parquet":
        pq.write_table(table, target, compression="zstd")
    else:
        with target.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_json_lines(table))
    return target.stat().st_size


def _json_lines(table: pa.Table) -> Iterator[str]:
    parsed = "evidence" in table.column_names  # a JSON object already: goes in as it is
    for batch in table.to_batches(ROWS_AT_ONCE):
        for row in batch.to_pylist():
            evidence = row.pop("evidence") if parsed else ""
            line = json.dumps(row, ensure_ascii=False)
            yield f'{line[:-1]}, "evidence": {evidence}}}\n' if parsed else f"{line}\n"


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
    for batch in pq.ParquetFile(folder / f"{name}.parquet").iter_batches():
        for row in batch.to_pylist():
            yield _with_parsed_evidence(row)


def _with_parsed_evidence(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "evidence": json.loads(row["evidence"])} if "evidence" in row else row
