"""The verdicts on pairs: features of both pages are joined and judged in tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from neardup.arrays import FeatureRows
from neardup.methods.base import Method
from neardup.model import Relation
from neardup.schemas import PAIRS, VERDICTS
from neardup.spark.columns import features_of, map_batches, renamed

JUDGED = pa.schema([*PAIRS, *VERDICTS])
BRIEF = ["left", "right", "relation", "similarity"]


@dataclass(frozen=True)
class PairJudge:
    """Judges pairs of page numbers, from the features of all pages."""

    method: Method
    features: DataFrame
    relations: Sequence[str]  # the verdicts that bring pages together

    def judge(self, pairs: DataFrame) -> DataFrame:
        """`JUDGED`: the relation of the left page of each pair to the right one."""
        method = self.method

        def judge(batch: pa.RecordBatch) -> pa.RecordBatch:
            sides = [features_of(method, batch[name]) for name in ("ours", "theirs")]
            left = np.arange(batch.num_rows)
            verdicts = method.relate(FeatureRows.of(*sides), left, left + batch.num_rows)
            columns = [batch["left"], batch["right"], *verdicts.columns]
            return pa.record_batch(columns, schema=JUDGED)

        ours = renamed(self.features, left="number", ours="features")
        theirs = renamed(self.features, right="number", theirs="features")
        both = pairs.select("left", "right").join(ours, "left").join(theirs, "right")
        return map_batches(both, judge, JUDGED)

    def judge_or_recall(self, pairs: DataFrame, known: DataFrame) -> DataFrame:
        """`BRIEF` for pairs in any order of their two pages; those in `known` have their verdict.

        A verdict turned round is the verdict on the pair turned round, so one of the two is enough.
        """
        turned = known.select(
            f.col("right").alias("left"),
            f.col("left").alias("right"),
            _reversed(f.col("relation")).alias("relation"),
            "similarity",
        )
        either = known.select(*BRIEF).unionByName(turned)
        recalled = pairs.select("left", "right").join(either, ["left", "right"])
        rest = pairs.select("left", "right").join(either, ["left", "right"], "left_anti")
        return recalled.unionByName(self.judge(rest).select(*BRIEF))

    def joining(self, verdicts: DataFrame) -> DataFrame:
        """The verdicts that bring pages together."""
        return verdicts.where(f.col("relation").isin(*self.relations))


def _reversed(relation: Column) -> Column:
    turned = relation
    for each in Relation:
        if each.reverse != each:
            turned = f.when(relation == str(each), str(each.reverse)).otherwise(turned)
    return turned
