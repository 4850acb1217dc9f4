"""The recipes for other crawlers: Java classes against a running service, Heritrix's files.

The Java classes are compiled with Hadoop's own jar (it comes with PySpark) and with stubs of the
few classes of Nutch, Storm and StormCrawler that they use (`java/stubs.txt`): their signatures are
checked, those crawlers are not run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from archive_bytes import http, packed, record
from neardup import RawPage
from neardup.pages.readers import read_records
from sample_pages import long_html
from service_process import PATIENT, TOKENS, WRITE, serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STUBS = Path(__file__).with_name("java") / "stubs.txt"
CHINESE = "港口渡船每二十分钟一班，早上六点开始，晚上十点结束。乘客可以在码头的售票处买票。"


def class_path() -> str:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    jars = Path(spark.origin).parent / "jars"
    return os.pathsep.join(
        map(
            str,
            [
                *jars.glob("hadoop-client-*.jar"),
                *jars.glob("slf4j-api*.jar"),
                *jars.glob("commons-logging*.jar"),
            ],
        )
    )


def compiled(folder: Path) -> str:
    """The class path of the recipes and what calls them."""
    sources = []
    for part in STUBS.read_text("utf-8").split("--- ")[1:]:
        name, _, code = part.partition("\n")
        path = folder / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, "utf-8")
        sources.append(str(path))
    sources += map(str, (ROOT / "examples" / "java").glob("*.java"))
    command = ["javac", "-Xlint:all,-serial,-classfile,-path", "-Werror", "-encoding", "utf-8"]
    command += ["-cp", class_path(), "-d", str(folder / "classes"), *sources]
    subprocess.run(command, check=True, timeout=300)
    return os.pathsep.join([str(folder / "classes"), class_path()])


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_the_java_recipes_ask_a_running_service(tmp_path: Path) -> None:
    classes = compiled(tmp_path)
    words = " ".join(f'word{number} \\ "quoted"' for number in range(60))
    texts = tmp_path / "texts.txt"
    texts.write_text(f"{words}\n{CHINESE * 4}\n", "utf-8")
    with serving(tmp_path, *PATIENT, environment=TOKENS) as service:
        command = ["java", "-cp", classes, "Recipes", service.url, WRITE, str(texts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    first = 'http://nutch0.example/?a="b"'
    assert told[:4] == [
        "nutch drop {neardup_cluster=c1}",
        "nutch drop dropped",
        "nutch mark {neardup_cluster=c1}",  # the same page again
        f"nutch mark {{neardup_cluster=c1, neardup_of={first}, neardup_relation=same}}",
    ]
    kind = "content-type=text/html; charset=gb18030"
    assert told[4] == f"storm {{{kind}, neardup.cluster=c2}}"
    assert told[5].startswith(f"storm {{{kind}, neardup.cluster=c2, neardup.of=http://s0.example/")
    assert told[6] == f"storm {{{kind}}}"  # the service is away, the page goes on
    assert told[7:] == [
        *("default http://s0.example/", "ack"),
        *("status http://s1.example/?q=a b&c FETCHED", "ack"),
        *("default http://s2.example/", "ack"),
    ]
    assert "http://s2.example/" in done.stderr


def test_files_of_heritrix_are_written_again_with_revisits(tmp_path: Path) -> None:
    warcs, slim = tmp_path / "warcs", tmp_path / "slim"
    warcs.mkdir()
    body = http(long_html("harbour").encode())
    for day in (1, 2):
        date = f"2024-05-0{day}T00:00:00Z"
        content = packed(record("http://a.example/", body, date=date))
        (warcs / f"day{day}.warc.gz").write_bytes(content)
    (warcs / "day3.warc.gz.open").write_bytes(b"half")
    script = ROOT / "examples" / "heritrix_revisits.sh"
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "neardup").write_text(f'#!/bin/sh\nexec {sys.executable} -m neardup "$@"\n')
    (bin_ / "neardup").chmod(0o755)
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"}
    store = f"sqlite:///{tmp_path / 'news.db'}"
    for _ in range(2):  # the second time there is nothing to do
        subprocess.run(
            [str(script), str(warcs), str(slim), store],
            check=True,
            env=environment,
            timeout=300,
            capture_output=True,
        )
    assert sorted(each.name for each in slim.glob("*.gz")) == ["day1.warc.gz", "day2.warc.gz"]
    read = [each for each in read_records([str(slim)]) if isinstance(each, RawPage)]
    assert len({each.body for each in read}) == 1
    assert len(read) == 2
    assert (slim / "day2.warc.gz").stat().st_size < (warcs / "day2.warc.gz").stat().st_size
