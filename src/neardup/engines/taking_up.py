"""Whether what an earlier result remembers can be used again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neardup.errors import InputError, UsageError
from neardup.methods.base import Method
from neardup.schemas import FORMAT


def check_format(folder: Path | str, summary: Mapping[str, Any]) -> None:
    """Features and hashes that another version wrote mean something else."""
    written = summary.get("format", "none")
    if written != FORMAT:
        raise InputError(
            f"{folder} was written in format {written} and this neardup reads format {FORMAT}: "
            "use the neardup that wrote it, or make the result again"
        )


def check_method(folder: Path | str, summary: Mapping[str, Any], method: Method) -> None:
    """A result can be taken up by the same method with the same options only."""
    options = json.loads(json.dumps(dataclasses.asdict(method.options)))
    if (summary["method"], summary["options"]) != (method.name, options):
        told = ", ".join(f"{name}={value}" for name, value in summary["options"].items())
        raise UsageError(
            f"{folder} was made with method {summary['method']} ({told}); use the same here"
        )
