"""The local engine: one machine, all cores. `dedup` reads as the algorithm.

The text of pages is spilled to a work folder; what stays in memory is one small row a page and
the method's features. Pages are numbered in the order of their ids as soon as the ids are
settled, and every later choice goes by that number: the answer does not depend on the order of
input, on threads or on the size of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from neardup.clusters.keeping import policy_order
from neardup.engines import output
from neardup.engines.budget import DEFAULT_MEMORY
from neardup.engines.clustering import Clustering, cluster_pages, join_rule
from neardup.engines.deciding import Judged, decide
from neardup.engines.earlier import among_earlier, check_earlier, with_earlier_features
from neardup.engines.featuring import SURVEYED, compute_features
from neardup.engines.keeping import write_kept_pages
from neardup.engines.parsing import Spilled, parse_inputs
from neardup.engines.progress import Progress, Silent
from neardup.engines.remembered import write_survey
from neardup.engines.result import Result
from neardup.engines.run import Run
from neardup.engines.stages import Stages
from neardup.engines.summary import describe_run, measured, summarise
from neardup.engines.tables import write_result
from neardup.engines.threads import default_workers
from neardup.engines.work import work_folder
from neardup.errors import UsageError
from neardup.methods.base import Surveys, make_method
from neardup.pages import Limits
from neardup.schemas import COUNTS

# What adds to a result, in the folder that is not in its place yet.
Finish = Callable[[Path, Spilled, Judged, Clustering], None]


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: str = "own-text",
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    keep: str = "longest",
    contained: bool = False,
    format: output.Format = "jsonl",  # noqa: A002 - the name of the command-line option
    write_kept: str | Path | None = None,
    against: str | Path | None = None,
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
    finish: Finish | None = None,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` are paths, globs or remote paths; the files of `out` are described in the README.
    `against` names the result of an earlier run: the new pages are clustered with its pages,
    which are not read again, and its clusters keep their names. `memory` is in bytes. `finish`
    may add to the result before it is put in place; `neardup.dedup` writes the report so. When
    this raises, nothing is left behind; when it is killed or interrupted, the same call with
    `resume` goes on where it was.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    limits, out = limits or Limits(), Path(out)
    settings = {"method": method, "preset": preset, "keep": keep, "contained": contained}
    chosen = make_method(method, options, preset=preset)
    policy_order(keep)  # a bad name is told before any work
    output.check_destination(out)
    readable_again = "-" not in inputs
    if not readable_again and (resume or write_kept is not None):
        raise UsageError("standard input comes once: --resume and --write-kept need files")
    if against is not None:
        check_earlier(Path(against), chosen)
    what = describe_run(inputs, limits, chosen, against)
    place = work_folder(out, what, resume=resume, resumable=readable_again)

    with output.writing(out), place as work:
        run = Run(work, memory, workers or default_workers(), Stages(progress or Silent()))
        spilled = parse_inputs(inputs, limits, run)
        earlier = None
        if against is not None:
            spilled, earlier = among_earlier(spilled, Path(against))
        counts = earlier.survey_batches() if earlier else ()
        features = compute_features(chosen, spilled, run, counts)
        if earlier is not None:
            features = with_earlier_features(chosen, features, earlier, run)
        judged = decide(chosen, spilled, features, run, earlier)
        rule = join_rule(chosen, contained=contained)
        clustering = cluster_pages(rule, spilled, features, judged, keep, run, earlier)
        result = work / "result"
        write_result(result, format, chosen, spilled, features, judged, clustering, run)
        if isinstance(chosen, Surveys):
            write_survey(result, run.parts(SURVEYED, COUNTS).each())
        if write_kept is not None:
            write_kept_pages(Path(write_kept), inputs, limits, spilled, clustering, run)
        summary = summarise(inputs, chosen, settings, spilled, features, judged, clustering, run)
        output.write_summary(result, summary)
        if finish is not None:
            with run.stages("report"):
                finish(result, spilled, judged, clustering)
            output.write_summary(result, {**summary, "run": measured(run)})
        output.put_in_place(result, out)
    return Result(out)
