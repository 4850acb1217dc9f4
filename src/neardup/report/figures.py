"""Numbers in words and figures, for people."""

from __future__ import annotations


def percent(part: int, whole: int) -> str:
    """A share; never 0% of what is something, nor 100% of what lacks something."""
    if part in (0, whole):
        return "100%" if part else "0%"
    share = 100 * part / whole
    if share < 0.1:
        return "under 0.1%"
    if share > 99.9:
        return "over 99.9%"
    return f"{share:.1f}%"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a number before the point."""
    value, units = float(count), ["bytes", "KB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    if units[0] == "bytes":
        return plural(count, "byte")
    return f"{value:.1f} {units[0]}" if value < 9.95 else f"{value:.0f} {units[0]}"


def plural(count: int, word: str) -> str:
    """The count and the word that goes with it."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
