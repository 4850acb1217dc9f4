"""The tables of a result, from page numbers and verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup.engines import output
from neardup.engines.clustering import Clustering
from neardup.engines.deciding import Judged, rows_of
from neardup.engines.parsing import Spilled
from neardup.methods.base import Method
from neardup.model import Relation, Skip
from neardup.schemas import VERDICTS

REJECTED = [str(Relation.DIFFERENT), str(Relation.UNDECIDED)]


def clusters_table(
    method: Method, spilled: Spilled, features: pa.Table, clustering: Clustering
) -> pa.Table:
    """Every page once: its cluster, and what it is to the page that is kept."""
    ids = spilled.ids
    is_kept = clustering.kept == np.arange(len(ids))
    member = pa.array(np.cumsum(~is_kept) - 1, mask=is_kept)  # its row in `to_kept`
    decidable = method.decidable(rows_of(features, np.arange(len(ids))))
    alone = pc.if_else(decidable, pa.scalar(None, pa.string()), str(Relation.UNDECIDED))
    columns = {
        "id": ids,
        "url": spilled.pages["url"],
        "cluster": ids.take(pa.array(clustering.labels)),
        "kept": pa.array(is_kept),
        "duplicate_of": ids.take(pa.array(clustering.kept, mask=is_kept)),
        "similarity": clustering.to_kept["similarity"].take(member),
        "relation": pc.coalesce(clustering.to_kept["relation"].take(member), alone),
    }
    return pa.table(columns, schema=output.CLUSTERS)


def pairs_tables(ids: pa.Array, judged: Judged) -> dict[str, pa.Table]:
    """The judged pairs, split into those that have something in common and the rest."""
    columns = {
        "a": ids.take(pa.array(judged.left)),
        "b": ids.take(pa.array(judged.right)),
        **{name: judged.verdicts[name] for name in VERDICTS.names},
    }
    table = pa.table(columns, schema=output.PAIRS)
    failed = pc.is_in(table["relation"], pa.array(REJECTED))
    return {"pairs": table.filter(pc.invert(failed)), "rejected": table.filter(failed)}


def skipped_table(skips: Sequence[Skip]) -> pa.Table:
    """Every record that did not become a page, by place."""
    rows = sorted(
        (skip.source.path, skip.source.record, skip.id, str(skip.reason), skip.detail)
        for skip in skips
    )
    columns = list(zip(*rows, strict=True)) or [()] * len(output.SKIPPED)
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, output.SKIPPED, strict=True)
    ]
    return pa.table(arrays, schema=output.SKIPPED)
