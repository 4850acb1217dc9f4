"""The local engine: one machine, all cores. `dedup` reads as the algorithm.

The text of pages is spilled to a work folder; what stays in memory is one small row a page and
the method's features. Pages are numbered in the order of their ids as soon as the ids are
settled, and every later choice goes by that number: the answer does not depend on the order of
input, on threads or on the size of batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from neardup.clusters.keeping import policy_order
from neardup.engines import output
from neardup.engines.clustering import cluster_pages
from neardup.engines.deciding import decide
from neardup.engines.featuring import compute_features
from neardup.engines.keeping import check_can_reread, write_kept_pages
from neardup.engines.parsing import parse_inputs
from neardup.engines.progress import Progress, Silent
from neardup.engines.result import Result
from neardup.engines.stages import Stages
from neardup.engines.summary import summarise
from neardup.engines.tables import clusters_table, pairs_tables, skipped_table
from neardup.engines.threads import default_workers
from neardup.engines.work import work_folder
from neardup.methods.base import make_method
from neardup.pages import Limits


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
    limits, workers, out = limits or Limits(), workers or default_workers(), Path(out)
    settings = {"method": method, "preset": preset, "keep": keep, "contained": contained}
    chosen = make_method(method, options, preset=preset)
    policy_order(keep)  # a bad name is told before any work
    output.check_destination(out)
    if write_kept is not None:
        check_can_reread(inputs)
    stages = Stages(progress or Silent())

    with output.writing(out), work_folder(out) as work:
        spilled = parse_inputs(inputs, limits, work, workers, stages)
        features = compute_features(chosen, spilled, workers, stages)
        judged = decide(chosen, spilled.ids, spilled.pages, features, workers, stages)
        clustering = cluster_pages(
            chosen, spilled.pages, features, judged, keep=keep, contained=contained, stages=stages
        )
        tables = {
            "clusters": clusters_table(chosen, spilled, features, clustering),
            **pairs_tables(spilled.ids, judged),
            "skipped": skipped_table(spilled.skips),
        }
        result = work / "result"
        output.write_tables(result, tables, format, stages)
        if write_kept is not None:
            write_kept_pages(Path(write_kept), inputs, limits, spilled.pages, clustering, stages)
        summary = summarise(inputs, chosen, settings, tables, spilled.pages, stages, workers)
        output.write_summary(result, summary)
        output.put_in_place(result, out)
    return Result(out)
