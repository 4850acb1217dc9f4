"""What a method says beside its verdict, in words that can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neardup.report.templates import shortened, visible

LONGEST = 600  # characters of one entry


def told(evidence: Mapping[str, Any], translate: Callable[..., str]) -> list[tuple[str, str]]:
    """Each name with its value as text; short ones first, and not why, which is said above."""
    rest = [
        (visible(name.replace("_", " ")), shortened(_text(value, translate), LONGEST))
        for name, value in evidence.items()
        if name != "why"
    ]
    return sorted(rest, key=lambda entry: len(entry[1]) > 40)


def _text(value: Any, translate: Callable[..., str]) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return translate("yes") if value else translate("no")
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(each, translate)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(_text(each, translate) for each in value) or "–"
    return f"{value:,}" if isinstance(value, int) else str(value)
