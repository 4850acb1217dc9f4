"""The Spark session of a run: the one that is there, or a new one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from neardup.errors import NeardupError

OLDEST_JAVA = 17
NO_JAVA = (
    "the Spark engine needs Java 17 or 21: install it (Debian, Ubuntu: apt-get install "
    "openjdk-17-jre-headless) and set JAVA_HOME if it is not found by itself"
)
# What a session of ours is made with. Those of others keep what they have.
OURS = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
# What a run needs of any session, for its time.
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
    """Say what is missing before PySpark does, at length."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        raise NeardupError(NO_JAVA)
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise NeardupError(f"{java} does not run: {NO_JAVA}") from None
    version = re.search(r'version "(\d+)', told.stderr)
    if version and int(version[1]) < OLDEST_JAVA:
        raise NeardupError(f"{java} is Java {version[1]}: {NO_JAVA}")


def _exactly(partitions: int | None) -> dict[str, str]:
    """As many partitions as asked for, neither more nor fewer."""
    if partitions is None:
        return {}
    return {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The settings, until the end; then what was there before."""
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
