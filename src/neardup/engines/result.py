"""A result folder, read back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from neardup.engines.output import read_rows
from neardup.model import Cluster


class Result:
    """What `dedup` wrote. Rows are read from the files when asked for."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r})"

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        found: dict[str, Any] = json.loads((self.folder / "summary.json").read_text("utf-8"))
        return found

    def pages(self) -> Iterator[dict[str, Any]]:
        """Every page with its cluster, whether it is kept, and what it duplicates."""
        return read_rows(self.folder, "clusters")

    def pairs(self) -> Iterator[dict[str, Any]]:
        """The judged pairs that have something in common, with the evidence."""
        return read_rows(self.folder, "pairs")

    def rejected(self) -> Iterator[dict[str, Any]]:
        """The candidates that failed, with the reason."""
        return read_rows(self.folder, "rejected")

    def skipped(self) -> Iterator[dict[str, Any]]:
        """The records that did not become a page."""
        return read_rows(self.folder, "skipped")

    def clusters(self) -> list[Cluster]:
        """Every cluster, those of one page too, by name."""
        members: defaultdict[str, list[str]] = defaultdict(list)
        kept: dict[str, str] = {}
        for page in self.pages():
            members[page["cluster"]].append(page["id"])
            if page["kept"]:
                kept[page["cluster"]] = page["id"]
        return [Cluster(name, kept[name], tuple(ids)) for name, ids in members.items()]

    def kept(self) -> list[str]:
        """The ids of the pages to keep."""
        return [page["id"] for page in self.pages() if page["kept"]]
