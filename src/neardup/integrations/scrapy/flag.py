"""An answer as crawlers pass it on: the fields of `neardup check --json`, without the id."""

from __future__ import annotations

from typing import Any

from neardup.index import Answer


def flag_of(answer: Answer) -> dict[str, Any]:
    """Plain values, so that every feed exporter can write them."""
    return {
        "duplicate": answer.duplicate,
        "of": answer.of,
        "cluster": answer.cluster,
        "relation": None if answer.relation is None else str(answer.relation),
        "similarity": answer.similarity,
    }
