"""The process that Spark forks Python workers from, with libraries and kernels already loaded.

Spark starts it as `python -m neardup.spark.daemon`, once a machine, in place of its own daemon,
which loads nothing: each worker would then import our libraries and load the compiled kernels by
itself, some seconds each. What is loaded here is shared by all workers.
"""

from __future__ import annotations

import gc
import os

from pyspark.daemon import manager

# The threads of NumPy's linear algebra, which nothing here uses, would not survive a fork.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

TEXT = "A ferry left the harbour at noon and came back with the evening tide. " * 12
PAGES = [f"<html><title>{name}</title><body><p>{TEXT}<p>{name}</p></body>" for name in "abc"]


def load() -> None:
    """Load what workers need, by running the default method on a few pages."""
    import pandas as pd  # noqa: F401, PLC0415 - PySpark's worker imports it
    import pyspark.worker  # noqa: F401, PLC0415

    import neardup.spark.pipeline  # noqa: F401, PLC0415
    from neardup.local.corpus import Corpus, with_derived  # noqa: PLC0415
    from neardup.local.pipeline import judge  # noqa: PLC0415
    from neardup.local.run import Silent, Stages  # noqa: PLC0415
    from neardup.local.work import Run  # noqa: PLC0415
    from neardup.methods.registry import make_method  # noqa: PLC0415
    from neardup.model import RawPage, Source  # noqa: PLC0415
    from neardup.pages.raw import raw_batch  # noqa: PLC0415
    from neardup.text.parse import parse  # noqa: PLC0415

    raw = [
        RawPage(str(number), page.encode(), True, Source("", number), f"http://{number}.example/")
        for number, page in enumerate(PAGES)
    ]
    pages = with_derived(parse(raw_batch(raw)))
    run = Run(None, 1 << 30, 1, Stages(Silent()))
    judge(Corpus.from_pages(pages), make_method("own-text"), run)
    gc.collect()
    gc.freeze()  # workers collect garbage after each task: not among all this


if __name__ == "__main__":
    load()
    manager()
