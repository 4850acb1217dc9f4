"""neardup finds duplicate and near-duplicate web pages.

    import neardup

    result = neardup.dedup("crawl.warc.gz", "result")       # a folder of decisions
    verdict = neardup.compare("a.html", "b.html")           # what is a to b?
    index = neardup.Index.open("sqlite:///crawl.db")        # have I seen this page?
    for page in neardup.read_pages("pages/"): ...           # parsed pages

Importing this module is cheap: what does the work is loaded on first use.
"""

from __future__ import annotations

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
    from neardup.api import compare, dedup, html_page, read_pages, recluster, text_page
    from neardup.index import Answer, Index
    from neardup.local.result import Result
    from neardup.methods.base import Method

__all__ = [
    "Answer",
    "Block",
    "BlockKind",
    "Cluster",
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
    "html_page",
    "read_pages",
    "recluster",
    "text_page",
]

_ON_FIRST_USE = {
    "Answer": "neardup.index",
    "Index": "neardup.index",
    "Method": "neardup.methods.base",
    "Result": "neardup.local.result",
    "compare": "neardup.api",
    "dedup": "neardup.api",
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
