"""A Spark session for tests, and runs of both engines to compare.

Without Java or PySpark these tests are skipped; in CI (CI=true) that is a failure. Tests that take
the session share one: mark them xdist_group("spark").
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neardup.local.result import Result
from neardup.local.run import Silent, Stages
from real_parts import missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from neardup.spark.work import Work

Rows = NDArray[np.int64]

GROUP = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two cores of this machine."""
    need_spark()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .appName("neardup tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", "127.0.0.1")
        # Small tables: compiling queries would take longer than running them.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    yield session
    session.stop()


def need_spark() -> None:
    """Skip where Spark cannot run."""
    if find_spec("pyspark") is None:
        missing("needs PySpark: pip install 'neardup[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("needs Java: apt-get install openjdk-17-jre-headless")


def answer(folder: Path | Result) -> dict[str, Any]:
    """What a result says, in an order of its own."""
    result = folder if isinstance(folder, Result) else Result(folder)
    summary = result.summary
    named = ("counts", "skipped_by_reason", "pairs_by_relation", "shells")
    told = {name: summary[name] for name in named}
    return {
        "pages": sorted(result.pages(), key=lambda row: row["id"]),
        "pairs": sorted(result.pairs(), key=lambda row: (row["a"], row["b"])),
        "rejected": sorted(result.rejected(), key=lambda row: (row["a"], row["b"])),
        "skipped": sorted(
            result.skipped(), key=lambda row: (row["source"], row["record"], row["id"])
        ),
        **told,
    }


@pytest.fixture
def work(spark: SparkSession, tmp_path: Path) -> Work:
    """A work folder without a run."""
    from neardup.spark.work import Work

    return Work(spark, str(tmp_path / "work"), Stages(Silent()))


def pairs_frame(spark: SparkSession, left: Rows, right: Rows, partitions: int = 3) -> DataFrame:
    """Pairs of page numbers."""
    rows = list(zip(left.tolist(), right.tolist(), strict=True))
    return spark.createDataFrame(rows, "left long, right long").repartition(partitions)
