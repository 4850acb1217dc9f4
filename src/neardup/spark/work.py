"""The work folder of a run and its result: on this machine, on HDFS or in an object store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from neardup.errors import InputError, OutputError, UsageError
from neardup.local.run import Stages
from neardup.spark.columns import BATCH_BYTES
from neardup.spark.session import (
    CHOOSES_PARTITIONS,
    MOST_PARTITIONS,
    PAGES_A_PARTITION,
    PARTITIONS,
    is_connect,
    is_damaged,
)

PAGE_BYTES = 1_000_000  # of a Parquet page
# For each Parquet file written: blocks and pages end by their bytes, whatever a row has.
BOUNDED_FILES = {
    "parquet.block.size": str(BATCH_BYTES),
    "parquet.block.size.row.check.min": "1",
    "parquet.page.size": str(PAGE_BYTES),
    "parquet.page.size.row.check.min": "1",
}
# What steps leave for each other is read whole: dictionaries and statistics would be of no use.
PLAIN_FILES = {
    "parquet.enable.dictionary": "false",
    "parquet.column.statistics.enabled": "false",
    "parquet.size.statistics.enabled": "false",
}


class Storage:
    """The Hadoop file system of a path."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._jvm: Any = spark._jvm
        configuration = spark._jsc.hadoopConfiguration()
        self._system = self._path(path).getFileSystem(configuration)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def is_empty(self, path: str) -> bool:
        return len(self._system.listStatus(self._path(path))) == 0

    def make(self, path: str) -> None:
        try:
            made = self._system.mkdirs(self._path(path))
        except Py4JJavaError as error:
            raise OutputError(f"cannot write {path}: {error.java_exception.getMessage()}") from None
        if not made:
            raise OutputError(f"cannot write {path}: the folder cannot be made")

    def delete(self, path: str) -> None:
        self._system.delete(self._path(path), True)

    def move(self, old: str, new: str) -> None:
        if not self._system.rename(self._path(old), self._path(new)):
            raise OutputError(f"cannot write {new}: the storage refuses to rename {old}")

    def read_text(self, path: str) -> str:
        stream = self._system.open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write_text(self, path: str, text: str) -> None:
        stream = self._system.create(self._path(path), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()


@dataclass(frozen=True)
class Work:
    """The context of every step: session, work directory, progress."""

    spark: SparkSession
    folder: str
    stages: Stages
    storage: Storage | None = None  # without one, every step is taken
    finished: list[str] = field(default_factory=list)  # the steps that are done

    @property
    def result(self) -> str:
        """The directory that becomes the result."""
        return f"{self.folder}/result"

    @property
    def on_connect(self) -> bool:
        """Whether the session is one of Spark Connect, which has no context: no broadcasts."""
        return is_connect(self.spark)

    @property
    def cores(self) -> int:
        """The tasks that run at a time."""
        return 2 if self.on_connect else self.spark.sparkContext.defaultParallelism

    @property
    def heap(self) -> int:
        """Bytes of memory of the driver's Java; none of it is ours on Spark Connect."""
        if self.on_connect:
            return 0
        java: Any = self.spark.sparkContext._jvm
        return int(java.java.lang.Runtime.getRuntime().maxMemory())

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Write rows to the work directory and continue from there.

        This is a checkpoint: later steps do not compute them again, even if a machine is lost, nor
        does the same run when it is resumed.
        """
        path = f"{self.folder}/{name}"
        if self.storage is None or not self.storage.exists(f"{path}/_SUCCESS"):
            self.write(rows, path, "snappy", **PLAIN_FILES)
        self.finished.append(name)
        return self.spark.read.schema(rows.schema).parquet(path)

    def prepare_for(self, pages: int) -> None:
        """Set the number of shuffle partitions by the number of pages, unless somebody else has."""
        if self.spark.conf.get(CHOOSES_PARTITIONS, "false") == "true":
            wanted = min(max(pages // PAGES_A_PARTITION, 2 * self.cores), MOST_PARTITIONS)
            self.spark.conf.set(PARTITIONS, wanted)

    def write(self, rows: DataFrame, path: str, codec: str = "zstd", **more: str) -> None:
        """Write rows as Parquet files whose blocks are small; `more` are options of Parquet."""
        options = {"compression": codec, **BOUNDED_FILES, **more}
        rows.write.mode("overwrite").options(**options).parquet(path)


@contextmanager
def work_folder(
    spark: SparkSession,
    out: str,
    stages: Stages,
    run: str,
    *,
    resume: bool,
    against: str,
) -> Iterator[Work]:
    """The work directory of a run that writes `out`, next to it; removed when the run ends.

    `run` describes the run: only what an equal run has left is resumed. A run that fails or is
    interrupted leaves the steps it has finished, unless the request or the inputs are wrong, or
    the earlier result `against`.
    """
    storage = Storage(spark, out)
    folder = work_path(out)
    mark, label = f"{folder}/neardup-work", json.dumps(run) + "\n"
    if storage.exists(folder) and not (storage.is_empty(folder) or storage.exists(mark)):
        raise OutputError(f"{folder} is in the way and is no work folder of neardup; remove it")
    if not (resume and storage.exists(mark) and storage.read_text(mark) == label):
        storage.delete(folder)
        storage.make(folder)
        storage.write_text(mark, label)
    work, left_for_later = Work(spark, folder, stages, storage), False
    try:
        yield work
    except (UsageError, InputError):
        raise
    except BaseException as error:
        left_for_later = bool(work.finished) and not is_damaged(against, str(error))
        if left_for_later:
            error.add_note("finished steps are kept: the same run with --resume continues")
        raise
    finally:
        if not left_for_later:
            _remove(storage, folder)


def work_path(out: str) -> str:
    """The place of the work folder of a run that writes `out`."""
    parent, _, name = out.rstrip("/").rpartition("/")
    return f"{parent}/.{name}.work" if parent or out.startswith("/") else f".{name}.work"


def _remove(storage: Storage, folder: str) -> None:
    try:
        storage.delete(folder)
    except (Py4JError, OSError):  # Java is gone
        shutil.rmtree(folder, ignore_errors=True)


def check_destination(storage: Storage, out: str, *, force: bool) -> None:
    """Refuse to replace anything but an earlier result of ours, and that without `force`."""
    if not storage.exists(out) or storage.is_empty(out):
        return
    if not storage.exists(f"{out}/summary.json"):
        raise OutputError(f"{out} is not empty and holds no earlier result; choose another folder")
    if not force:
        raise OutputError(
            f"{out} holds an earlier result; use --force to replace it, or another --out"
        )


def put_in_place(work: Work, out: str) -> None:
    """Move the complete result to `out`; an earlier result is removed only then."""
    assert work.storage is not None
    earlier = f"{work.folder}/earlier"
    if work.storage.exists(out):
        work.storage.move(out, earlier)
    work.storage.move(work.result, out)
