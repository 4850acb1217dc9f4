"""The Spark engine: a cluster of machines. `dedup` reads as the algorithm.

It takes the same steps as the local engine, each over tables that Spark distributes. What grows
with the number of pages never comes to the driver. Each step leaves its result for the next in a
work directory next to the output, so that a machine can be lost at any moment.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from neardup.errors import InputError, UsageError
from neardup.local.outcome import settings_of
from neardup.local.pipeline import joining_relations
from neardup.local.result import Result
from neardup.local.run import Progress, Silent, Stages
from neardup.methods.base import Joining, Method, assigner, searcher
from neardup.methods.registry import DEFAULT_METHOD, MethodLike, make_method
from neardup.model import Relation
from neardup.pages import Limits
from neardup.rules.keeping import keep_policy
from neardup.spark.candidates import pairs_by_keys, searched_pairs
from neardup.spark.clusters import cluster_pages
from neardup.spark.features import BROADCAST_COUNTS, describe
from neardup.spark.identity import Identified, number_pages, settle_identities, without_earlier
from neardup.spark.judging import PairJudge
from neardup.spark.prior import Earlier, check_earlier, with_known
from neardup.spark.reading import parse_inputs
from neardup.spark.session import (
    Storage,
    Work,
    check_destination,
    put_in_place,
    spark_session,
    work_folder,
)
from neardup.spark.tables import summarise, write_tables


def dedup(
    inputs: str | Sequence[str],
    out: str | Path,
    *,
    method: MethodLike = DEFAULT_METHOD,
    options: Mapping[str, object] | None = None,
    preset: str = "default",
    view: str | None = None,
    keep: str | None = None,
    contained: bool = False,
    against: str | Path | None = None,
    threshold: float | None = None,
    force: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
    master: str | None = None,
    partitions: int | None = None,
    broadcast_counts: int = BROADCAST_COUNTS,
) -> Result:
    """Find the duplicates among the pages of `inputs` and write the result folder `out`.

    `inputs` and `out` are paths that all machines of the cluster reach. The session that is active
    is used; without one it is made, at `master` (by default what spark-submit says, or all cores of
    this machine). `partitions` is the number of tasks of a shuffle. A survey of up to
    `broadcast_counts` counts is sent to every task whole; of a larger one each task gets what its
    pages need. The rest is as in the local engine, and so is the answer.
    """
    inputs = [inputs] if isinstance(inputs, str) else list(inputs)
    out, limits = str(out), limits or Limits()
    chosen = _without_order(
        make_method(method, options, preset=preset, view=view, threshold=threshold)
    )
    if chosen.joining is Joining.REPOSITORY:
        raise UsageError(
            "joining=repository decides page by page, each against what was kept before it, which "
            "a cluster cannot share out: use --engine local, or --set joining=components"
        )
    keep = keep_policy(keep, by_rule=False)
    stages = Stages(progress or Silent())

    with spark_session(master, partitions) as spark:
        storage = Storage(spark, out)
        check_destination(storage, out, force=force)
        if against is not None:
            check_earlier(Storage(spark, str(against)), str(against), chosen)
        with work_folder(spark, out, stages) as work:
            earlier = None if against is None else Earlier(str(against), work)
            with stages("parse"):
                records = parse_inputs(inputs, limits, work)
            with stages("identify"):
                found = _identify(records, earlier, work)
            old = earlier.clusters(found.pages) if earlier else None
            features = describe(
                chosen,
                records,
                found,
                work,
                earlier.counts(chosen) if earlier else {},
                earlier.features(found.pages) if earlier else None,
                broadcast_counts=broadcast_counts,
            )
            with stages("candidates"):
                pairs = work.keep(_candidates(chosen, features, found, work), "pairs")
            judge = PairJudge(chosen, features, joining_relations(chosen, contained=contained))
            with stages("judge"):
                verdicts = _judge(judge, pairs, found, earlier, old, work)
            with stages("cluster"):
                clustered = cluster_pages(judge, found.pages, verdicts, keep, work, old)
            with stages("write"):
                write_tables(found, features, verdicts, clustered, work)
                settings = settings_of(chosen, preset, keep, contained)
                summary = summarise(inputs, settings, found, features, verdicts, clustered, work)
            text = json.dumps(summary, ensure_ascii=False, indent=2) + "\n"
            storage.write_text(f"{work.result}/summary.json", text)
            put_in_place(work, out)
    result = Result(out)
    result.summary = summary  # also where the folder is out of Python's reach
    return result


def _without_order(method: Method) -> Method:
    if assigner(method) is not None:
        raise UsageError(
            f"{method.name} decides page by page against what it has seen, which no cluster can "
            "share; use the local engine"
        )
    return method


def _identify(records: DataFrame, earlier: Earlier | None, work: Work) -> Identified:
    """Every page with its id and number; those of an earlier run among them."""
    found = settle_identities(records, work)
    if found.pages.isEmpty():
        raise InputError(_nothing_read(found.skipped))
    if earlier is not None:
        found = without_earlier(found, earlier.pages)
    return number_pages(found, work)


def _nothing_read(skipped: DataFrame) -> str:
    first = skipped.orderBy("source", "record").first()
    if first is None:
        return "no page in the input"
    place = f"{first['source']} record {first['record']}"
    why = f"{first['reason']}{': ' + first['detail'] if first['detail'] else ''}"
    return f"no page could be read; {skipped.count()} skipped, the first at {place}: {why}"


def _candidates(method: Method, features: DataFrame, found: Identified, work: Work) -> DataFrame:
    if (searches := searcher(method)) is not None:
        return searched_pairs(method, searches, features)
    return pairs_by_keys(method, features, found.count, work)


def _judge(
    judge: PairJudge,
    pairs: DataFrame,
    found: Identified,
    earlier: Earlier | None,
    old: DataFrame | None,
    work: Work,
) -> DataFrame:
    """The verdict on every pair; what is known is not judged again."""
    known = None
    if earlier is not None and old is not None:
        known = work.keep(earlier.verdicts(found.pages), "known-verdicts")
        pairs = with_known(pairs, old, known)
    verdicts = judge.judge(pairs)
    if searcher(judge.method) is not None:
        # A filter may let pairs through that fail; which ones depends on what it sees at once.
        verdicts = verdicts.where(f"relation != '{Relation.DIFFERENT}'")
    return work.keep(verdicts if known is None else verdicts.unionByName(known), "verdicts")
