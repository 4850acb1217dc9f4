"""Files wherever Spark writes: local, HDFS, object stores. And the work folder of a run there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from neardup.engines.stages import Stages
from neardup.errors import OutputError


class Storage:
    """The file system of Hadoop that a path leads to."""

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
    """What every step has at hand: the session, the work folder, whom to tell."""

    spark: SparkSession
    folder: str
    storage: Storage
    stages: Stages

    @property
    def result(self) -> str:
        """The folder that becomes the result."""
        return f"{self.folder}/result"

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Write rows to the work folder and go on from there.

        A checkpoint: what comes later does not compute them again, also when a machine is lost.
        """
        path = f"{self.folder}/{name}"
        rows.write.mode("overwrite").option("compression", "snappy").parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)


@contextmanager
def work_folder(spark: SparkSession, out: str, stages: Stages) -> Iterator[Work]:
    """The work folder of a run that writes `out`, beside it; gone when the run ends."""
    storage = Storage(spark, out)
    parent, _, name = out.rstrip("/").rpartition("/")
    folder = f"{parent}/.{name}.work" if parent or out.startswith("/") else f".{name}.work"
    storage.delete(folder)
    storage.make(folder)
    try:
        yield Work(spark, folder, storage, stages)
    finally:
        storage.delete(folder)


def check_destination(storage: Storage, out: str) -> None:
    """Refuse to replace anything but an earlier result of ours."""
    if not storage.exists(out) or storage.is_empty(out):
        return
    if not storage.exists(f"{out}/summary.json"):
        raise OutputError(f"{out} is not empty and holds no earlier result; name another folder")


def put_in_place(work: Work, out: str) -> None:
    """Make the result appear as `out` whole; an earlier result there goes only then."""
    earlier = f"{work.folder}/earlier"
    if work.storage.exists(out):
        work.storage.move(out, earlier)
    work.storage.move(work.result, out)
