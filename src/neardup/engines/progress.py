"""How a run tells what it is doing. The command line shows it; a library user may ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told of each stage in turn and of the pages and bytes it has done so far."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins; `total` is its number of pages or pairs, where known."""

    def advance(self, count: int, size: int = 0) -> None:
        """`count` more pages or pairs, of `size` bytes, are done."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Nothing to say."""

    def advance(self, count: int, size: int = 0) -> None:
        """Nothing to say."""
