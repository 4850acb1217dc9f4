"""A Spark job: find the duplicates in a crawl, and count the pages kept per host.

    spark-submit --master spark://host:7077 examples/spark_job.py 'crawl/*.warc.gz' result

Without arguments it generates some pages and uses the cores of this machine:

    python examples/spark_job.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from neardup.evaluation.synth import write_set
from neardup.spark.pipeline import dedup


def main(pages: str, out: str) -> None:
    spark = SparkSession.builder.appName("duplicates in a crawl").getOrCreate()
    result = dedup(pages, out)  # in the active session
    print(result.summary["counts"])

    # The result is Parquet, so the same job can go on with it.
    clusters = spark.read.parquet(f"{out}/clusters.parquet")
    host = f.parse_url(f.col("url"), f.lit("HOST")).alias("host")
    kept = clusters.groupBy(host).agg(f.count("*").alias("pages"), f.count_if("kept").alias("kept"))
    kept.orderBy(f.desc("pages"), "host").show(10, truncate=False)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            write_set(Path(folder) / "set", 500, 1)
            main(f"{folder}/set/pages.jsonl.zst", f"{folder}/result")
