"""The Spark session of a run, and its work folder: local, on HDFS or in an object store."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

from neardup.errors import NeardupError, OutputError
from neardup.local.run import Stages

OLDEST_JAVA = 17
NO_JAVA = (
    "the Spark engine needs Java 17 or 21: install it (Debian, Ubuntu: apt-get install "
    "openjdk-17-jre-headless) and set JAVA_HOME if it is not found by itself"
)
# For a session that neardup creates; an existing one keeps its own.
OURS = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
# For any session, during a run.
DURING_A_RUN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2048",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


@contextmanager
def spark_session(master: str | None, partitions: int | None) -> Iterator[SparkSession]:
    """The active session, or a new one that is stopped afterwards, set for a run.

    `master` is where a new session runs; without it that is what spark-submit says, or all cores
    of this machine. `partitions` is the number of tasks of a shuffle; without it Spark chooses.
    """
    there = SparkSession.getActiveSession()
    spark = there or _new_session(master)
    try:
        with _set(spark, {**DURING_A_RUN, **_exactly(partitions)}):
            yield spark
    finally:
        if there is None:
            spark.stop()


def _new_session(master: str | None) -> SparkSession:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("neardup")
    if master or not submitted:
        builder = builder.master(master or "local[*]")
    for name, value in OURS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def check_java() -> None:
    """Report a missing or old Java in one line, before PySpark does at length."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        raise NeardupError(NO_JAVA)
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise NeardupError(f"{java} does not run: {NO_JAVA}") from None
    version = re.search(r'version "(\d+)', output.stderr)
    if version and int(version[1]) < OLDEST_JAVA:
        raise NeardupError(f"{java} is Java {version[1]}: {NO_JAVA}")


def _exactly(partitions: int | None) -> dict[str, str]:
    """Settings for exactly this many partitions."""
    if partitions is None:
        return {}
    return {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session, and restore them at the end."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


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
    storage: Storage
    stages: Stages

    @property
    def result(self) -> str:
        """The directory that becomes the result."""
        return f"{self.folder}/result"

    def keep(self, rows: DataFrame, name: str) -> DataFrame:
        """Write rows to the work directory and continue from there.

        This is a checkpoint: later steps do not compute them again, even if a machine is lost.
        """
        path = f"{self.folder}/{name}"
        rows.write.mode("overwrite").option("compression", "snappy").parquet(path)
        return self.spark.read.schema(rows.schema).parquet(path)


@contextmanager
def work_folder(spark: SparkSession, out: str, stages: Stages) -> Iterator[Work]:
    """The work directory of a run that writes `out`, next to it; removed when the run ends."""
    storage = Storage(spark, out)
    parent, _, name = out.rstrip("/").rpartition("/")
    folder = f"{parent}/.{name}.work" if parent or out.startswith("/") else f".{name}.work"
    mark = f"{folder}/neardup-work"
    if storage.exists(folder) and not (storage.is_empty(folder) or storage.exists(mark)):
        raise OutputError(f"{folder} is in the way and is no work folder of neardup; remove it")
    storage.delete(folder)
    storage.make(folder)
    storage.write_text(mark, "a work folder of neardup\n")
    try:
        yield Work(spark, folder, storage, stages)
    finally:
        storage.delete(folder)


def check_destination(storage: Storage, out: str, *, force: bool) -> None:
    """Refuse to replace anything but an earlier result of ours, and that without `force`."""
    if not storage.exists(out) or storage.is_empty(out):
        return
    if not storage.exists(f"{out}/summary.json"):
        raise OutputError(f"{out} is not empty and holds no earlier result; name another folder")
    if not force:
        raise OutputError(
            f"{out} holds an earlier result; use --force to replace it, or another --out"
        )


def put_in_place(work: Work, out: str) -> None:
    """Move the complete result to `out`; an earlier result is removed only then."""
    earlier = f"{work.folder}/earlier"
    if work.storage.exists(out):
        work.storage.move(out, earlier)
    work.storage.move(work.result, out)
