"""What every stage of a run has at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from neardup.engines.stages import Stages
from neardup.engines.work import Parts


@dataclass(frozen=True)
class Run:
    """The means of one run: where to spill, how much memory, how many threads, whom to tell."""

    work: Path
    memory: int  # bytes
    workers: int
    stages: Stages

    def parts(
        self, name: str, schema: pa.Schema, *, compressed: bool = True, cuts: int | None = None
    ) -> Parts:
        """The parts that the stage of that name leaves, and those it has left already."""
        return Parts(self.work / name, schema, compressed=compressed, cuts=cuts)
