"""The work directory of a run, where each stage leaves its results for the next.

Every stage writes `Parts`: numbered Arrow files, and a manifest that lists each with its checksum.
A part is written to a temporary name, renamed, and only then listed, so a run that fails or is
killed leaves complete parts, and `--resume` computes only what is missing. The parts of a small run
stay in memory (`Room`), because they are made again almost as quickly as they are written and read.
`Run` is the context that every stage gets.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from neardup.errors import InputError, OutputError, UsageError
from neardup.kernels import key_order
from neardup.local.run import Stage, Stages, ordered_map, work_side_by_side

Item = TypeVar("Item")

MANIFEST, FINISHED = "manifest.jsonl", "finished"
ROOM_SHARE = 0.15  # of the memory limit: bytes of parts that stay in memory if there are no more
PLAIN_SHARE = 0.25  # of the memory limit: bytes of a stage that are written uncompressed
MOST_ITEMS = 1 << 24  # of one source, for the numbers of parts
EVERY_KEY = (0, 2**64 - 1)
LOCK, OURS = "lock", b"a work folder of neardup\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a stage, as its manifest lists it."""

    number: int
    rows: int
    size: int  # bytes it was made from
    checksum: str
    is_plain: bool = True  # not compressed


class PartFile(NamedTuple):
    """The file of a part, mapped into memory. What is read of it counts as memory of this process
    until it is released."""

    path: Path
    map: mmap.mmap

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Map a file."""
        with path.open("rb") as file:
            return cls(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def batch(self) -> pa.RecordBatch:
        """Its batch, whose columns are views of the file unless it is compressed."""
        return pa.ipc.open_file(pa.py_buffer(self.map)).get_batch(0)

    def release(self) -> None:
        """Release what was read."""
        self.map.madvise(mmap.MADV_DONTNEED)


Mapped = tuple[list[pa.RecordBatch], list[PartFile | None]]  # None: it is in memory


class Parts(ABC):
    """The record batches of one stage, in files (`FileParts`) or in memory (`MemoryParts`)."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.listed: list[Part] = []
        self._unlisted: set[int] = set()

    def put(self, number: int, batch: pa.RecordBatch) -> None:
        """Keep a batch that may be missing, for `find`: it is not listed, so that a run which is
        resumed does without."""
        self._write(number, batch, 0)
        self._unlisted.add(number)

    def find(self, number: int) -> pa.RecordBatch | None:
        """What was `put` there by this run."""
        return self.read(number) if number in self._unlisted else None

    @abstractmethod
    def finish(self) -> None:
        """Record that all parts are there (see `Run.finished`)."""

    def drop(self) -> None:
        """Delete the parts, which nothing needs any more."""
        self.listed.clear()
        self._unlisted.clear()

    def fill(
        self,
        items: Iterable[Item],
        function: Callable[[Item], tuple[pa.RecordBatch, int]],
        workers: int,
        stage: Stage,
    ) -> None:
        """Compute part n from item n; `function` returns the batch and the bytes it was made from.

        Parts that an earlier run has left are reused.
        """

        def make(numbered: tuple[int, Item]) -> Part:
            number, item = numbered
            if number < len(self.listed):
                return self.listed[number]
            return self._write(number, *function(item))

        for part in ordered_map(make, enumerate(items), workers):
            if part.number == len(self.listed):
                self._list(part)
            stage.advance(part.rows, part.size)

    def fill_side_by_side(
        self,
        sources: Iterable[Iterator[Item]],
        function: Callable[[Item, int, bool], pa.RecordBatch | None],
        workers: int,
        stage: Stage,
        *,
        first: int = 0,
    ) -> None:
        """Compute a part from each item of several sources, several of them at a time.

        `function` gets an item, its number, and whether an earlier run has left that part; it
        returns the batch, or None if there is nothing to write. Numbers follow from source and
        place, so they are the same whatever thread is faster; `first` is that of the first source.
        """
        left = {part.number: part for part in self.listed}
        listing = Lock()

        def make(source: int, place: int, item: Item) -> None:
            number = (first + source) * MOST_ITEMS + place
            batch = function(item, number, number in left)
            part = left.get(number)
            if batch is not None:
                part = self._write(number, batch, pc.sum(batch["size"]).as_py() or 0)
            with listing:
                if batch is not None and part is not None:
                    self._list(part)
            if part is not None:
                stage.advance(part.rows, part.size)

        work_side_by_side(sources, make, workers)
        self.listed.sort(key=lambda part: part.number)

    def each(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The named columns of each part, in order."""
        for part in self.listed:
            yield self.read(part.number, columns)

    @abstractmethod
    def read(self, number: int, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """Part `number`, only the named columns."""

    @abstractmethod
    def each_range(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """What the parts hold of the keys from `first` to `last`, without reading the rest.

        For parts that are not compressed and in the order of their column "key"; where the range
        is that of all keys, the order does not matter.
        """

    @abstractmethod
    def mapped(self) -> Mapped:
        """All parts, and the files that they are views of. For parts that are not compressed."""

    @abstractmethod
    def _write(self, number: int, batch: pa.RecordBatch, size: int) -> Part:
        """Put part `number` in its place; several threads may do so at a time."""

    def _list(self, part: Part) -> None:
        self.listed.append(part)


class MemoryParts(Parts):
    """The parts of a run without a work folder."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self._batches: dict[int, pa.RecordBatch] = {}

    @classmethod
    def of(cls, batches: Sequence[pa.RecordBatch]) -> MemoryParts:
        """Batches that are there already."""
        parts = cls(batches[0].schema)
        for number, batch in enumerate(batches):
            parts._list(parts._write(number, batch, 0))
        return parts

    def read(self, number: int, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        return _columns(self._batches[number], columns)

    def each_range(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        whole = (first, last) == EVERY_KEY
        for batch in self.each():
            yield batch if whole else within_keys(batch, first, last)

    def mapped(self) -> Mapped:
        return list(self.each()), [None] * len(self.listed)

    def finish(self) -> None:
        """Nothing to do: what is in memory is not resumed."""

    def drop(self) -> None:
        super().drop()
        self._batches.clear()

    def _write(self, number: int, batch: pa.RecordBatch, size: int) -> Part:
        self._batches[number] = batch
        return Part(number, batch.num_rows, size, "")


class Room:
    """Bytes of memory for the parts of a run. Once they take more, all go to files."""

    def __init__(self, size: int = 0) -> None:
        self.lock = RLock()  # held while any part goes into memory or from there to a file
        self._left = size
        self._is_open = size > 0
        self._guests: list[FileParts] = []

    def admit(self, parts: FileParts, size: int) -> bool:
        """Whether so many bytes more may stay; what is there already leaves if not."""
        if not self._is_open:
            return False
        self._left -= size
        if self._left >= 0:
            if parts not in self._guests:
                self._guests.append(parts)
            return True
        self._is_open = False
        for each in self._guests:
            each.spill()
        return False

    def leave(self, size: int) -> None:
        """So many bytes are free again."""
        self._left += size


class FileParts(MemoryParts):
    """A file for each part, in a folder of its own, as soon as there is no room for them in memory.

    The first `plain_bytes` are not compressed: they stay in the memory that the system has for
    files, and compressing costs more than all other work on them. What is more is compressed.
    `cuts` is the number of parts if that depends on the memory limit: parts of a run with another
    limit are not reused.
    """

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        *,
        compressed: bool,
        cuts: int | None = None,
        plain_bytes: int = 0,
        room: Room | None = None,
    ) -> None:
        super().__init__(schema)
        folder.mkdir(parents=True, exist_ok=True)
        if cuts is not None:
            _only_if_cut_so(folder, cuts)
        self.folder = folder
        self._compressed = compressed
        self._plain_left = plain_bytes
        self._manifest = folder / MANIFEST
        self.listed = self._read_manifest()
        self._packed = {part.number for part in self.listed if not part.is_plain}
        self._room = room if room is not None and not self.listed else Room()
        self._sizes: dict[int, int] = {}  # what parts in memory were made from
        self._spilled: dict[int, Part] = {}  # parts that left the memory before they were listed
        self._is_done = False

    def path(self, number: int) -> Path:
        return self.folder / f"{number:09d}.arrow"

    def read(self, number: int, columns: Sequence[str] | None = None) -> pa.RecordBatch:
        """The columns are views of the file, unless it is compressed."""
        if (batch := self._batches.get(number)) is not None:
            return _columns(batch, columns)
        with pa.memory_map(str(self.path(number))) as source:
            if columns is None:
                return pa.ipc.open_file(source).get_batch(0)
            if number not in self._packed:
                return _columns(pa.ipc.open_file(source).get_batch(0), columns)
            # Only these are decompressed. (Of a plain file Arrow would copy them.)
            fields = [self.schema.get_field_index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=fields)
            return pa.ipc.open_file(source, options=options).get_batch(0).select(list(columns))

    def each_range(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        if self._batches:
            yield from super().each_range(first, last)
            return
        for part in self.listed:
            with pa.memory_map(str(self.path(part.number))) as source:
                batch = within_keys(pa.ipc.open_file(source).get_batch(0), first, last)
            # Copied to release the mapped file, which would count as memory of this process.
            columns = [column.to_numpy().copy() for column in batch.columns]
            yield pa.record_batch(columns, schema=self.schema)

    def mapped(self) -> Mapped:
        with self._room.lock:
            if self._batches:
                return super().mapped()
        files = [PartFile.of(self.path(part.number)) for part in self.listed]
        return [file.batch() for file in files], [*files]

    def spill(self) -> None:
        """Write the parts in memory to files and list them there; the room's lock is held."""
        for number, batch in self._batches.items():
            self._spilled[number] = self._write_file(number, batch, self._sizes[number])
        for place, part in enumerate(self.listed):
            self.listed[place] = self._spilled.pop(part.number)
            self._note(self.listed[place])
        self._batches.clear()
        if self._is_done:
            self.finish()

    def finish(self) -> None:
        with self._room.lock:
            self._is_done = True
            if not self._batches:
                label = self.folder / FINISHED
                label.write_text(str(len(self.listed)), encoding="utf-8")

    @property
    def is_finished(self) -> bool:
        """Whether all parts are there and whole."""
        label = self.folder / FINISHED
        return label.exists() and label.read_text("utf-8") == str(len(self.listed))

    def drop(self) -> None:
        with self._room.lock:
            self._room.leave(sum(map(_held_bytes, self._batches.values())))
            self._is_done = False
            super().drop()
        shutil.rmtree(self.folder)

    def _write(self, number: int, batch: pa.RecordBatch, size: int) -> Part:
        with self._room.lock:
            if self._room.admit(self, _held_bytes(batch)):
                self._sizes[number] = size
                return super()._write(number, batch, size)
        return self._write_file(number, batch, size)

    def _write_file(self, number: int, batch: pa.RecordBatch, size: int) -> Part:
        path = self.path(number)
        unfinished = path.with_suffix(".unfinished")
        is_plain = not self._compressed or self._plain_left > 0
        self._plain_left -= batch.nbytes
        options = pa.ipc.IpcWriteOptions(compression=None if is_plain else "lz4")
        try:
            with unfinished.open("wb") as file:
                sink = _Summed(file)
                write_batch(pa.PythonFile(sink, "w"), batch, options)
        except OSError:
            unfinished.unlink(missing_ok=True)  # leaves room on a full disk
            raise
        unfinished.rename(path)
        return Part(number, batch.num_rows, size, sink.checksum, is_plain)

    def _list(self, part: Part) -> None:
        with self._room.lock:
            super()._list(self._spilled.pop(part.number, part))
            if part.number not in self._batches:
                self._note(self.listed[-1])

    def _note(self, part: Part) -> None:
        """Add a part to the manifest."""
        if not part.is_plain:
            self._packed.add(part.number)
        with self._manifest.open("a", encoding="utf-8") as manifest:
            manifest.write(json.dumps(asdict(part)) + "\n")

    def _read_manifest(self) -> list[Part]:
        """The complete parts of an earlier run: listed, present, with the right checksum."""
        listed: list[Part] = []
        if not self._manifest.exists():
            return listed
        for line in self._manifest.read_bytes().splitlines():
            try:
                part = Part(**json.loads(line))
                whole = part.checksum == _checksum(self.path(part.number))
            except (ValueError, TypeError, OSError):
                whole = False  # the run was killed while writing the line
            if not whole:
                break
            listed.append(part)
        lines = "".join(json.dumps(asdict(part)) + "\n" for part in listed).encode()
        if lines != self._manifest.read_bytes():  # rewriting it may fail on a full disk
            self._manifest.write_bytes(lines)
        return listed


def write_batch(
    sink: Path | pa.NativeFile, batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions = None
) -> None:
    """Write a batch as an Arrow file, as parts are."""
    with pa.ipc.new_file(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)


def _columns(batch: pa.RecordBatch, names: Sequence[str] | None) -> pa.RecordBatch:
    return batch if names is None else batch.select(list(names))


def _held_bytes(batch: pa.RecordBatch) -> int:
    """The memory that a batch keeps from being freed, also of what it is a part of."""
    size: int = batch.get_total_buffer_size()
    return size


def _only_if_cut_so(folder: Path, cuts: int) -> None:
    """Delete the parts of a directory unless they were cut in the same way."""
    label = folder / "cuts"
    if label.exists() and label.read_text("utf-8") == str(cuts):
        return
    for name in (MANIFEST, FINISHED):
        (folder / name).unlink(missing_ok=True)
    label.write_text(str(cuts), encoding="utf-8")


def _checksum(path: Path) -> str:
    digest = xxhash.xxh3_64()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class _Summed:
    """A file that is being written, with the checksum of what was written."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = xxhash.xxh3_64()

    @property
    def checksum(self) -> str:
        """That of the whole file, once it is written."""
        return self._digest.hexdigest()

    def write(self, data: pa.Buffer | bytes) -> int:
        self._digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Nothing to do: who opened the file closes it."""

    def close(self) -> None:
        """Nothing to do."""


def within_keys(batch: pa.RecordBatch, first: int, last: int) -> pa.RecordBatch:
    """The rows with keys from `first` to `last`; the rows are sorted by key."""
    keys = batch["key"].to_numpy()
    begin = np.searchsorted(keys, np.uint64(first))
    return batch[begin : np.searchsorted(keys, np.uint64(last), "right")]


def in_order_of_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows sorted by their column "key", as `Parts.each_range` needs them."""
    keys = batch["key"].to_numpy()
    if keys.size < 2 or (keys[1:] >= keys[:-1]).all():
        return batch
    order = key_order.in_order_of_keys(keys, np.arange(keys.size))[1]
    return batch.take(pa.array(order))


def work_path(out: Path) -> Path:
    """The place of the work folder of a run that writes `out`."""
    return out.parent / f".{out.name}.work"


@contextmanager
def work_folder(out: Path, run: str, *, resume: bool, resumable: bool) -> Iterator[Path]:
    """The work directory of a run that writes `out`, next to it; removed when the run ends.

    `run` describes the run (its inputs and settings): only the directory of an equal run is reused.
    A `resumable` run that is interrupted or fails leaves what it has computed, unless the request
    or the inputs are wrong, when it would be useless. A directory that is a link, or that neardup
    did not create, is rejected before anything in it is touched.
    """
    folder = work_path(out)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _opened(folder) as opened, _locked(opened, folder, out):
        left_for_later = False
        try:
            _take_up(folder, opened, run, resume)
            yield folder
        except (UsageError, InputError):
            raise
        except (Exception, KeyboardInterrupt) as error:
            left_for_later = resumable and _computed(folder)
            if left_for_later and isinstance(error, Exception):
                error.add_note("what was computed is kept: the same run with --resume continues it")
            raise
        finally:
            if not left_for_later:
                _empty(opened)  # the lock goes last: without it a folder with content is not ours
                _remove(folder)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Open or create the directory, without following a link."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise _not_ours(folder) from None
    try:
        if os.fstat(opened).st_uid != os.geteuid():
            raise _not_ours(folder)
        yield opened
    finally:
        os.close(opened)


def _not_ours(folder: Path) -> OutputError:
    return OutputError(
        f"{folder} exists and is not a work folder of neardup; remove it or use another --out"
    )


@contextmanager
def _locked(opened: int, folder: Path, out: Path) -> Iterator[None]:
    """Lock the directory against other runs. The lock file also marks it as neardup's own."""
    only = set(os.listdir(opened)) <= {LOCK}  # left by a run that was killed at its start
    options = os.O_RDWR | os.O_NOFOLLOW | (os.O_CREAT if only else 0)
    try:
        lock = os.open(LOCK, options, 0o600, dir_fd=opened)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.EISDIR):
            raise
        raise _not_ours(folder) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.pread(lock, len(OURS) + 1, 0) != OURS:
            if not only or os.fstat(lock).st_size:
                raise _not_ours(folder)
            os.pwrite(lock, OURS, 0)
        yield
    except BlockingIOError:
        raise OutputError(f"another run is writing {out} now") from None
    finally:
        os.close(lock)


def _take_up(folder: Path, opened: int, run: str, resume: bool) -> None:
    """Keep what an equal run has left if it is to be resumed; otherwise empty the directory."""
    label = folder / "run.json"
    if resume and label.exists() and label.read_text("utf-8") == run:
        return
    _empty(opened)
    label.write_text(run, encoding="utf-8")


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _empty(opened: int) -> None:
    """Delete all but the lock."""
    with os.scandir(opened) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.name, dir_fd=opened, ignore_errors=True)
            elif entry.name != LOCK:
                with suppress(OSError):
                    os.unlink(entry.name, dir_fd=opened)


def _computed(folder: Path) -> bool:
    """Whether any stage has left a part."""
    return any(manifest.stat().st_size for manifest in folder.glob(f"*/{MANIFEST}"))


@dataclass(frozen=True)
class Run:
    """The context of a run: work directory, memory limit, threads, progress."""

    work: Path | None  # without one, everything stays in memory
    memory: int  # bytes
    workers: int
    stages: Stages

    def parts(
        self, name: str, schema: pa.Schema, *, compressed: bool = True, cuts: int | None = None
    ) -> Parts:
        """The parts of the stage with that name, including those left by an earlier run."""
        if self.work is None:
            return MemoryParts(schema)
        return FileParts(
            self.work / name,
            schema,
            compressed=compressed,
            cuts=cuts,
            plain_bytes=int(self.memory * PLAIN_SHARE),
            room=self._room,
        )

    @cached_property
    def _room(self) -> Room:
        return Room(int(self.memory * ROOM_SHARE))

    def finished(self, name: str, schema: pa.Schema, *, compressed: bool = True) -> Parts | None:
        """The parts of a stage if an earlier run has finished it: what they were made from is gone
        and not needed."""
        if self.work is None or not (self.work / name).is_dir():
            return None
        parts = FileParts(self.work / name, schema, compressed=compressed)
        return parts if parts.is_finished else None
