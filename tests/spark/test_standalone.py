"""A real cluster: a master and two workers, one of which is killed in the middle of a run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from neardup import api
from neardup.evaluation.synth import synth
from sample_pages import write_jsonl
from spark_runs import GROUP, answer, need_spark

pytestmark = GROUP

PATIENCE = 300  # seconds, on a busy machine
SETTINGS = {
    "spark.executor.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


def spark_class(folder: Path, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """A part of Spark as a process group of its own."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    home = Path(found.origin).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
    }
    with (folder / f"{name.rpartition('.')[2]}-{time.monotonic_ns()}.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kill(process: subprocess.Popen[bytes]) -> None:
    """The process and all it has started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The URL of a master, and its two workers of one core each."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    here = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
    master = spark_class(folder, "master.Master", *here, "--port", str(port))
    workers = []
    try:
        _wait_for(port)
        for _ in range(2):
            size = ["--cores", "1", "--memory", "800m", "--work-dir", str(folder / "work")]
            ports = ["--host", "127.0.0.1", "--webui-port", str(free_port())]
            workers.append(spark_class(folder, "worker.Worker", *ports, *size, url))
        yield url, workers
    finally:
        for process in [*workers, master]:
            kill(process)


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail("the master does not answer")


def test_a_worker_is_killed_in_the_middle(tmp_path: Path) -> None:
    need_spark()
    records = [
        {"id": row["id"], "url": row["url"], "html": row["content"]}
        for batch in synth(300, 2, length="short")
        for row in batch.to_pylist()
    ]
    for part in range(4):
        write_jsonl(tmp_path / f"part-{part}.jsonl", records[part::4])
    pages, out = str(tmp_path / "part-*.jsonl"), tmp_path / "out"
    here = answer(api.dedup(pages, tmp_path / "local"))
    said = " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items())
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with cluster(tmp_path) as (url, workers):
        command = [sys.executable, "-m", "neardup", "dedup", pages, "--out", str(out)]
        command += ["--engine", "spark", "--master", url, "--partitions", "4"]
        with subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as run:
            assert run.stderr is not None
            lines = []
            for line in run.stderr:
                lines.append(line)
                if "candidates" in line and workers[0].poll() is None:
                    kill(workers[0])
            assert run.wait(PATIENCE) == 0, "".join(lines)
        assert workers[0].poll() is not None
        assert workers[1].poll() is None
    assert answer(out) == here


ON_CONNECT = """
import sys
from pyspark.sql import SparkSession
import neardup.spark
from sample_pages import long_html

spark = SparkSession.builder.remote("local[2]").getOrCreate()
rows = [(str(n), long_html(["harbour", "railway"][n % 2], edited=n > 3)) for n in range(6)]
frame = spark.createDataFrame([*rows, ("6", "")], "name string, page string")
unique = neardup.spark.drop_duplicates(frame, html="page", id="name", work=sys.argv[1])
print("kept", sorted(row["name"] for row in unique.collect()))
try:
    neardup.spark.pipeline.dedup("pages", "out")
except neardup.UsageError as error:
    print("refused", error)
"""


def test_data_frames_of_spark_connect(tmp_path: Path) -> None:
    """With the packages of `pyspark[connect]`, which neardup itself does not need."""
    need_spark()
    told = subprocess.run(
        [sys.executable, "-c", ON_CONNECT, str(tmp_path / "work")],
        env={
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=PATIENCE,
    ).stdout
    assert "kept ['0', '1', '6']" in told
    assert "refused Spark Connect has no Spark context" in told
