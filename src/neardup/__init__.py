"""neardup finds duplicate and near-duplicate web pages.

    import neardup

    result = neardup.find_duplicates(texts)                 # which of these texts are duplicates?
    frame = neardup.drop_duplicates(frame, text="body")     # a table without its duplicates
    result = neardup.dedup("crawl.warc.gz", "result")       # a folder of decisions
    verdict = neardup.compare("a.html", "b.html")           # what is a to b?
    index = neardup.Index.open("sqlite:///crawl.db")        # have I seen this page?
    for page in neardup.read_pages("pages/"): ...           # parsed pages
    measured = neardup.evaluate("labelled")                 # how good is each method?

Importing this module is cheap: what does the work is loaded on first use.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from neardup.errors import (
    InputError,
    MissingExtraError,
    NeardupError,
    OutputError,
    StoreError,
    UsageError,
)
from neardup.model import Block, BlockKind, Cluster, Page, RawPage, Region, Relation, Verdict

if TYPE_CHECKING:
    from neardup.api import (
        compare,
        dedup,
        drop_duplicates,
        find_duplicates,
        html_page,
        read_pages,
        recluster,
        text_page,
    )
    from neardup.evaluation.runs import Evaluation, evaluate
    from neardup.index import Answer, Index
    from neardup.local.memory import Duplicates
    from neardup.local.result import Result
    from neardup.methods.base import Method

logging.getLogger("neardup").addHandler(logging.NullHandler())  # applications add others

__all__ = [
    "Answer",
    "Block",
    "BlockKind",
    "Cluster",
    "Duplicates",
    "Evaluation",
    "Index",
    "InputError",
    "Method",
    "MissingExtraError",
    "NeardupError",
    "OutputError",
    "Page",
    "RawPage",
    "Region",
    "Relation",
    "Result",
    "StoreError",
    "UsageError",
    "Verdict",
    "compare",
    "dedup",
    "drop_duplicates",
    "evaluate",
    "find_duplicates",
    "html_page",
    "read_pages",
    "recluster",
    "text_page",
]

_ON_FIRST_USE = {
    "Answer": "neardup.index",
    "Duplicates": "neardup.local.memory",
    "Evaluation": "neardup.evaluation.runs",
    "Index": "neardup.index",
    "Method": "neardup.methods.base",
    "Result": "neardup.local.result",
    "compare": "neardup.api",
    "dedup": "neardup.api",
    "drop_duplicates": "neardup.api",
    "evaluate": "neardup.evaluation.runs",
    "find_duplicates": "neardup.api",
    "html_page": "neardup.api",
    "read_pages": "neardup.api",
    "recluster": "neardup.api",
    "text_page": "neardup.api",
}


def __getattr__(name: str) -> Any:
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'neardup' has no attribute {name!r}")
    return getattr(import_module(_ON_FIRST_USE[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
