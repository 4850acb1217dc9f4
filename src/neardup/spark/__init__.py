"""The Spark engine: the methods of the local engine on a cluster, with the same answer.

`pipeline.py: dedup` reads as the algorithm; each step is a module beside it. Pages are numbered in
the order of their ids, as on one machine, and every choice goes by that number. Only PySpark types
travel between the steps: numbers as they are, features packed by `columns.py`.
"""

from __future__ import annotations

from neardup.errors import MissingExtraError

try:
    import pyspark.sql  # noqa: F401
except ImportError:
    raise MissingExtraError("the Spark engine", "spark") from None

from neardup.spark.frames import drop_duplicates, find_duplicates

__all__ = ["drop_duplicates", "find_duplicates"]
