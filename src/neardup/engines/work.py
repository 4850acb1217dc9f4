"""The work folder of a run: what one stage leaves for the next, as Arrow files.

Pages are spilled in parts, a part a batch, and read back column by column, so that memory does
not grow with the text of the pages.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


class Parts:
    """A sequence of record batches on disk, a file each."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.schema = schema

    def write(self, number: int, batch: pa.RecordBatch) -> None:
        """Store part `number`; parts may come in any order, from any thread."""
        path = self.folder / f"{number:09d}.arrow"
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, self.schema, options=_COMPRESSED) as writer,
        ):
            writer.write_batch(batch)

    def paths(self) -> list[Path]:
        """The parts in order."""
        return sorted(self.folder.iterdir())

    def each(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The parts in order, one at a time, only the named columns."""
        for path in self.paths():
            yield read_part(path, columns)


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """One part, only the named columns, in the order they are named."""
    with pa.OSFile(str(path)) as source:
        reader = pa.ipc.open_file(source)
        if columns is None:
            return reader.get_batch(0)
        fields = [reader.schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        source.seek(0)
        return pa.ipc.open_file(source, options=options).get_batch(0).select(list(columns))


@contextmanager
def work_folder(out: Path) -> Iterator[Path]:
    """A folder beside `out` that is gone when the run ends, however it ends."""
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".work", dir=out.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
