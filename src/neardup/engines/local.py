"""The local engine: one machine, all cores. `dedup` reads as the algorithm.

The text of pages is spilled to a work folder; what stays in memory is one small row a page and
the method's features. Pages are numbered in the order of their ids as soon as the ids are
settled, and every later choice goes by that number: the answer does not depend on the order of
input, on threads or on the size of batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.candidates.grouping import pairs_sharing_keys, pairs_with_first
from neardup.clusters.keeping import choose_kept, policy_order
from neardup.engines import output, summary
from neardup.engines.identity import Identities, settle_identities
from neardup.engines.keeping import write_kept_pages
from neardup.engines.progress import Progress, Silent
from neardup.engines.result import Result
from neardup.engines.stages import Stages
from neardup.engines.threads import default_workers, ordered_map
from neardup.engines.work import Parts, read_part, work_folder
from neardup.errors import InputError
from neardup.kernels.union_find import connected_components
from neardup.methods.base import Method, ProposesCandidates, make_method
from neardup.model import RawPage, Relation, Skip
from neardup.pages import Limits, batches, read
from neardup.schemas import PAGES, VERDICTS
from neardup.text.parse import parse

RECORD_COLUMNS = [
    "id",
    "again",
    "url",
    "canonical_url",
    "time",
    "size",
    "digest",
    "source",
    "record",
]
PAGES_AT_ONCE = 512
BYTES_AT_ONCE = 8 * 1024**2
PAIRS_AT_ONCE = 16_384
REJECTED = (Relation.DIFFERENT, Relation.UNDECIDED)


@dataclass(frozen=True)
class Judged:
    """Pairs of page numbers, left < right, and the verdict on each."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    verdicts: pa.Table


@dataclass(frozen=True)
class Clustering:
    """For each page: its cluster (the smallest page number in it) and the page kept for it."""

    labels: NDArray[np.int64]
    kept: NDArray[np.int64]
    to_kept: pa.Table  # the verdict on each page that is not kept, against the kept one


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: str = "exact",
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    keep: str = "longest",
    contained: bool = False,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    write_kept: str | Path | None = None,
    workers: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` are paths, globs or remote paths; the files of `out` are described in the README.
    Nothing is left behind when this raises or is interrupted.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    limits = limits or Limits()
    workers = workers or default_workers()
    out = Path(out)
    chosen = make_method(method, options, preset=preset)
    policy_order(keep)
    output.check_destination(out)
    stages = Stages(progress or Silent())

    with output.writing(out), work_folder(out) as work:
        parts, skips = _parse(inputs, limits, work, workers, stages)
        records, identities = _identify(inputs, parts, skips, stages)
        pages = records.take(pa.array(identities.rows))
        features = _features(chosen, parts, identities, workers, stages)
        judged = _judge(chosen, features, workers, stages)
        clustering = _cluster(chosen, features, pages, judged, keep, contained, stages)
        result = work / "result"
        result.mkdir()
        with stages("write") as stage:
            tables = {
                "clusters": _clusters_table(identities.ids, pages, features, chosen, clustering),
                **_pairs_tables(identities.ids, judged),
                "skipped": _skipped_table([*skips, *identities.skips]),
            }
            for name, table in tables.items():
                stage.size += output.write_table(result / name, table, format)
        if write_kept is not None:
            write_kept_pages(Path(write_kept), inputs, limits, pages, clustering.kept, stages)
        settings = {"method": method, "preset": preset, "keep": keep, "contained": contained}
        report = summary.summarise(inputs, chosen, settings, tables, pages, stages, workers)
        output.write_summary(result / "summary.json", report)
        output.put_in_place(result, out)
    return Result(out)


def _parse(
    inputs: Sequence[str], limits: Limits, work: Path, workers: int, stages: Stages
) -> tuple[Parts, list[Skip]]:
    """Read and parse every page, and spill the records in parts."""
    skips: list[Skip] = []
    parts = Parts(work / "pages", PAGES)

    def parse_part(item: tuple[int, list[RawPage]]) -> tuple[int, int]:
        number, raws = item
        batch = parse(raws)
        parts.write(number, batch)
        return batch.num_rows, sum(len(raw.body) for raw in raws)

    with stages("parse") as stage:
        raws = _setting_skips_aside(read(inputs, limits), skips)
        numbered = enumerate(batches(raws, PAGES_AT_ONCE, BYTES_AT_ONCE))
        for count, size in ordered_map(parse_part, numbered, workers):
            stage.advance(count, size)
    return parts, skips


def _setting_skips_aside(records: Any, skips: list[Skip]) -> Any:
    for record in records:
        if isinstance(record, Skip):
            skips.append(record)
        else:
            yield record


def _identify(
    inputs: Sequence[str], parts: Parts, skips: Sequence[Skip], stages: Stages
) -> tuple[pa.Table, Identities]:
    with stages("identify") as stage:
        batches = [_record_columns(path) for path in parts.paths()]
        if not batches:
            raise InputError(_nothing_read(inputs, skips))
        records = pa.Table.from_batches(batches)
        stage.advance(records.num_rows)
        return records, settle_identities(records)


def _record_columns(path: Path) -> pa.RecordBatch:
    """What is remembered of the pages of a part: all but their text."""
    part = read_part(path, [*RECORD_COLUMNS, "text"])
    lengths = pc.utf8_length(part["text"]).cast(pa.int64())
    return part.select(RECORD_COLUMNS).append_column("length", lengths)


def _nothing_read(inputs: Sequence[str], skips: Sequence[Skip]) -> str:
    if not skips:
        return f"no page in {', '.join(inputs)}"
    first = skips[0]
    place = f"{first.source.path} record {first.source.record}"
    told = f"{first.reason}{': ' + first.detail if first.detail else ''}"
    return f"no page could be read; {len(skips)} skipped, the first at {place}: {told}"


def _features(
    method: Method, parts: Parts, identities: Identities, workers: int, stages: Stages
) -> pa.Table:
    """The features of all pages, in the order of their ids."""
    with stages("features", total=identities.rows.size) as stage:
        collected = []

        def features_of(path: Path) -> tuple[pa.RecordBatch, int]:
            pages = read_part(path)
            return method.features(pages), pages["text"].nbytes

        for batch, size in ordered_map(features_of, parts.paths(), workers):
            collected.append(batch)
            stage.advance(batch.num_rows, size)
        table = pa.Table.from_batches(collected, method.feature_schema)
        return table.take(pa.array(identities.rows)).combine_chunks()


def _judge(method: Method, features: pa.Table, workers: int, stages: Stages) -> Judged:
    """Find the candidate pairs and judge each."""
    with stages("candidates") as stage:
        left, right = _candidates(method, features)
        stage.advance(features.num_rows)
    with stages("judge", total=left.size) as stage:

        def judge(start: int) -> pa.RecordBatch:
            here = slice(start, start + PAIRS_AT_ONCE)
            return method.judge(_rows(features, left[here]), _rows(features, right[here]))

        verdicts = []
        for batch in ordered_map(judge, range(0, left.size, PAIRS_AT_ONCE), workers):
            verdicts.append(batch)
            stage.advance(batch.num_rows)
        return Judged(left, right, pa.Table.from_batches(verdicts, VERDICTS))


def _candidates(method: Method, features: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(method, ProposesCandidates):
        pairs = method.candidates(features)
        return pairs["left"].to_numpy(), pairs["right"].to_numpy()
    keys = method.keys(_rows(features, np.arange(features.num_rows)))
    pair_up = pairs_with_first if method.transitive else pairs_sharing_keys
    return pair_up(keys["row"].to_numpy(), keys["key"].to_numpy())


def _rows(features: pa.Table, rows: NDArray[np.int64]) -> pa.RecordBatch:
    taken = features.take(pa.array(rows)).combine_chunks()
    columns = [
        column.chunk(0) if column.num_chunks else pa.array([], column.type)
        for column in taken.columns
    ]
    return pa.record_batch(columns, schema=features.schema)


def _cluster(
    method: Method,
    features: pa.Table,
    pages: pa.Table,
    judged: Judged,
    keep: str,
    contained: bool,
    stages: Stages,
) -> Clustering:
    """Join verified pairs, choose what to keep, and judge each member against it."""
    with stages("cluster") as stage:
        joins = set(method.joins)
        if contained:
            joins |= {Relation.CONTAINS, Relation.CONTAINED}
        wanted = pa.array([str(relation) for relation in sorted(joins)])
        joined = pc.is_in(judged.verdicts["relation"], wanted).to_numpy()
        labels = connected_components(features.num_rows, judged.left[joined], judged.right[joined])
        kept = choose_kept(keep, pages, labels)
        members = np.flatnonzero(kept != np.arange(kept.size))
        verdicts = method.judge(_rows(features, members), _rows(features, kept[members]))
        stage.advance(features.num_rows)
        return Clustering(labels, kept, pa.Table.from_batches([verdicts], VERDICTS))


def _clusters_table(
    ids: pa.Array,
    pages: pa.Table,
    features: pa.Table,
    method: Method,
    clustering: Clustering,
) -> pa.Table:
    count = len(ids)
    is_kept = clustering.kept == np.arange(count)
    place = np.full(count, -1)
    place[~is_kept] = np.arange(count - int(is_kept.sum()))  # the member's row in `to_kept`
    found = pa.array(place, mask=is_kept)
    decidable = method.decidable(_rows(features, np.arange(count)))
    alone = pc.if_else(decidable, pa.scalar(None, pa.string()), str(Relation.UNDECIDED))
    columns = {
        "id": ids,
        "url": pages["url"],
        "cluster": ids.take(pa.array(clustering.labels)),
        "kept": pa.array(is_kept),
        "duplicate_of": ids.take(pa.array(clustering.kept, mask=is_kept)),
        "similarity": clustering.to_kept["similarity"].take(found),
        "relation": pc.coalesce(clustering.to_kept["relation"].take(found), alone),
    }
    return pa.table(columns, schema=output.CLUSTERS)


def _pairs_tables(ids: pa.Array, judged: Judged) -> dict[str, pa.Table]:
    """The judged pairs, split into those that have something in common and the rest."""
    table = pa.table(
        {
            "a": ids.take(pa.array(judged.left)),
            "b": ids.take(pa.array(judged.right)),
            **{name: judged.verdicts[name] for name in VERDICTS.names},
        },
        schema=output.PAIRS,
    )
    failed = pc.is_in(table["relation"], pa.array([str(relation) for relation in REJECTED]))
    return {"pairs": table.filter(pc.invert(failed)), "rejected": table.filter(failed)}


def _skipped_table(skips: Sequence[Skip]) -> pa.Table:
    rows = sorted(
        (skip.source.path, skip.source.record, skip.id, str(skip.reason), skip.detail)
        for skip in skips
    )
    columns = list(zip(*rows, strict=True)) or [()] * len(output.SKIPPED)
    arrays = [
        pa.array(column, field.type) for column, field in zip(columns, output.SKIPPED, strict=True)
    ]
    return pa.table(arrays, schema=output.SKIPPED)
