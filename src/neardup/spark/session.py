"""The Spark session of a run: its settings, and its errors in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neardup.errors import InputError, NeardupError, UsageError
from neardup.local.run import default_workers
from neardup.spark.columns import BATCH_BYTES

OLDEST_JAVA = 17
NO_JAVA = (
    "the Spark engine needs Java 17 or 21: install it (Debian, Ubuntu: apt-get install "
    "openjdk-17-jre-headless) and set JAVA_HOME if it is not found by itself"
)
# For a session that neardup creates; an existing one keeps its own.
OURS = {
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "neardup.spark.daemon",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "4MB",
}
# For any session, during a run. With these, what Spark holds does not grow with the size of rows:
# docs/scale.md has the bounds.
DURING_A_RUN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(BATCH_BYTES),
    "spark.sql.autoBroadcastJoinThreshold": "4MB",
    "spark.sql.files.maxPartitionBytes": "32MB",
    # The vectorised reader holds thousands of rows of any size; this one holds one.
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
# Shuffle partitions of a session that neardup creates: a few for each core until the pages are
# counted, then one for so many pages; small ones are coalesced.
PARTITIONS_A_CORE, PAGES_A_PARTITION, MOST_PARTITIONS = 8, 5_000, 32_000
PARTITIONS = "spark.sql.shuffle.partitions"
CHOOSES_PARTITIONS = "spark.neardup.partitions"  # set if it is neardup that chooses their number
# On one machine Java runs for minutes, and most of its time would go into optimising its own code.
# Only with much to read it earns back what it costs to optimise what runs most: 19 s of processor
# time, and tasks then take a fifth less of Java's.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
THOROUGH_JAVA = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
MUCH_TO_READ = 1 << 30  # bytes of input files
GIGABYTE = 1 << 30
LEAST_HEAP, MOST_HEAP = GIGABYTE, 8 * GIGABYTE


class SparkError(NeardupError):
    """Spark has failed; the message says what to change."""


@contextmanager
def spark_session(
    master: str | None,
    partitions: int | None,
    memory: int | None,
    against: str,
    *,
    input_bytes: int,
) -> Iterator[SparkSession]:
    """The active session, or a new one that is stopped afterwards, set for a run.

    `master` is where a new session runs; without it that is what spark-submit says, or all cores
    of this machine. `partitions` is the number of tasks of a shuffle [by the number of pages].
    `memory` is that of Java, in bytes, in a new session on this machine, and by `input_bytes` Java
    is set for a short or a long run. Errors of Spark become one
    line; what Spark says about them is in a log file that the line names.
    """
    there = SparkSession.getActiveSession()
    if there is not None and memory is not None:
        raise UsageError("the Spark session runs already: its memory is what it was started with")
    if is_connect(there) or os.environ.get("SPARK_REMOTE"):
        raise UsageError(
            "Spark Connect has no Spark context, which reading and writing files takes: make a "
            "data frame of the pages and use neardup.spark.find_duplicates"
        )
    with _explained(against) as log:
        spark = there or _new_session(master, memory, input_bytes, log)
        try:
            with _set(spark, {**DURING_A_RUN, **_exactly(partitions)}):
                yield spark
        finally:
            if there is None:
                with suppress(Py4JError, OSError):  # if Java is gone, there is nothing to stop
                    spark.stop()


@contextmanager
def running(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of the user, set for a run."""
    with _explained(""), _set(spark, DURING_A_RUN):
        yield spark


def _new_session(
    master: str | None, memory: int | None, input_bytes: int, log: Path
) -> SparkSession:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = dict(OURS)
    if submitted:
        if memory is not None:
            raise UsageError("spark-submit has started Java: give it --driver-memory instead")
    else:
        check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        master = master or "local[*]"
        if master.startswith("local") and "JavaOptions" not in _users_settings():
            java = QUICK_JAVA if input_bytes < MUCH_TO_READ else THOROUGH_JAVA
            settings["spark.driver.extraJavaOptions"] = java
        if memory is not None or not re.search(r"driver[.-]memory", _users_settings()):
            settings["spark.driver.memory"] = f"{(memory or fitting_heap(master)) >> 20}m"
    builder = SparkSession.builder.appName("neardup")
    if master:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _errors_to(log):
        spark = builder.getOrCreate()
    if PARTITIONS not in _users_settings():
        spark.conf.set(PARTITIONS, PARTITIONS_A_CORE * spark.sparkContext.defaultParallelism)
        spark.conf.set(CHOOSES_PARTITIONS, "true")
    Thread(target=_start_workers, args=(spark,), daemon=True).start()
    return spark


def _start_workers(spark: SparkSession) -> None:
    """Let the Python workers load while Java prepares the first step."""
    with suppress(Py4JError, OSError):
        spark.sparkContext.parallelize([0], 1).foreach(lambda _: None)


def fitting_heap(master: str) -> int:
    """Bytes of heap for Java: what this machine can spare beside the Python workers, or the least
    that a driver of a cluster needs."""
    if not master.startswith("local"):
        return LEAST_HEAP
    spare = (machine_memory() - default_workers() * GIGABYTE) // 2
    return min(max(spare, LEAST_HEAP), MOST_HEAP)


def machine_memory() -> int:
    """Bytes of memory that this process may use."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            total = min(total, int(Path(path).read_text()))
    return total


def _users_settings() -> str:
    """The settings that the user made for Spark before the run."""
    settings = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    folder = os.environ.get("SPARK_CONF_DIR") or f"{os.environ.get('SPARK_HOME', '')}/conf"
    with suppress(OSError):
        settings += Path(folder, "spark-defaults.conf").read_text()
    return settings


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Let Java, which is started meanwhile, write its messages to a file and not to the screen."""
    sys.stderr.flush()
    screen = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(screen, 2)
        os.close(screen)


@contextmanager
def _explained(against: str) -> Iterator[Path]:
    """A log file, and errors of Spark in one line that names it; without errors it is removed."""
    handle, name = tempfile.mkstemp(".log", "neardup-spark-")
    os.close(handle)
    log, keep = Path(name), False
    try:
        yield log
    except NeardupError:
        raise
    except (Py4JError, PySparkException, ConnectionError) as error:
        keep = True
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(traceback.format_exc())
        explained = explain(str(error), log.read_text("utf-8", "replace"), against)
        explained.add_note(f"details are in {log}")
        for note in getattr(error, "__notes__", []):
            explained.add_note(note)
        raise explained from None
    finally:
        if not keep:
            log.unlink(missing_ok=True)


# What a log says, and what to do about it; the first that is found counts.
CAUSES = {
    r"OutOfMemoryError|GC overhead limit|INVALID_DRIVER_MEMORY": "Spark ran out of memory: "
    "give Java more with --memory 4GB on one machine, or with spark.driver.memory and "
    "spark.executor.memory on a cluster",
    r"No space left on device": "a disk is full: free some space, or set spark.local.dir to a "
    "larger disk; the work folder is next to the result",
    r"Python worker exited unexpectedly|exit code 137|\bMemoryError\b": "a Python worker ended, "
    "most likely for lack of memory: use fewer cores (--master 'local[1]'), or raise "
    "spark.executor.memoryOverhead on a cluster",
    r"No module named 'neardup'": "the executors have no neardup: install it there, or set "
    "spark.pyspark.python to a Python that has it",
}


def is_damaged(against: str, message: str) -> bool:
    """Whether Spark, or one of our readers, says that it cannot read the earlier result."""
    if not against:
        return False
    has_scheme = ":" in against.partition("/")[0]
    folder = against if has_scheme else os.path.abspath(against)  # noqa: PTH100 - links stay
    return folder.rstrip("/") in message or damaged(against) in message


def damaged(against: str) -> str:
    """What to do about an earlier result that cannot be read."""
    what = f"the earlier result {against} is damaged or incomplete"
    return f"{what}: make it again, or run without --against"


def explain(message: str, log: str, against: str = "") -> NeardupError:
    """What went wrong and what to do about it, in one line."""
    raised = re.findall(r"^neardup\.errors\.(\w+): (.+)$", message, re.M)
    if raised:
        name, line = raised[-1]
        return InputError(line) if name == InputError.__name__ else SparkError(line)
    if is_damaged(against, message):
        return InputError(damaged(against))
    for pattern, advice in CAUSES.items():
        if re.search(pattern, message) or re.search(pattern, log):
            return SparkError(advice)
    causes = re.findall(
        r"^(?:: |Caused by: )?((?:[\w$]+\.)*\w+(?:Exception|Error): .+)$", message, re.M
    )
    lines = causes[-1:] or message.strip().splitlines() or ["Java has ended"]
    return SparkError(f"Spark failed: {lines[0].strip()}")


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
        PARTITIONS: str(partitions),
        CHOOSES_PARTITIONS: "false",
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


def is_connect(spark: SparkSession | None) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")
