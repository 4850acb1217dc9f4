"""Clusters around centres on Spark against `clusters.splitting`, in tasks and in rounds."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from neardup.arrays import FeatureRows
from neardup.kernels.grouping import connected_components
from neardup.methods.base import Joining, Method, SurveyResults, verdicts
from neardup.methods.identical import COLUMNS
from neardup.model import Relation
from neardup.rules.clusters import APART, centred_clusters
from neardup.schemas import KEYS
from neardup.spark.clusters import cluster_pages
from neardup.spark.columns import feature_rows
from neardup.spark.judging import PairJudge
from neardup.spark.work import Work
from spark_runs import GROUP, Rows, spark, work

__all__ = ["spark", "work"]
pytestmark = GROUP
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

REACH = 1.0


@dataclass(frozen=True)
class NoOptions:
    """None."""


class OnALine(Method):
    """Pages are places on a line; near is what is within reach."""

    name = "on-a-line"
    joining = Joining.CENTRES
    Options = NoOptions

    @property
    def feature_schema(self) -> pa.Schema:
        return pa.schema([("at", pa.float64()), ("host", pa.uint64())])

    def features(self, pages: pa.RecordBatch, surveyed: SurveyResults) -> pa.RecordBatch:
        raise AssertionError("the features are there already")

    def decidable(self, features: pa.RecordBatch) -> pa.BooleanArray:
        return pa.array(np.ones(features.num_rows, bool))

    def keys(self, features: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([], KEYS)

    def same_host_group(self, features: pa.RecordBatch) -> NDArray[np.uint64]:
        return np.asarray(features["host"].to_numpy(), np.uint64)

    def judge(
        self,
        rows: FeatureRows,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        *,
        evidence: bool = True,
    ) -> pa.RecordBatch:
        ours, theirs = rows.sides(left, right)
        apart = np.abs(ours["at"].to_numpy() - theirs["at"].to_numpy())
        hosts = ours["host"].to_numpy(), theirs["host"].to_numpy()
        same_host = (hosts[0] == hosts[1]) & (hosts[0] > 0)
        near = apart <= np.where(same_host, REACH / 2, REACH)
        return verdicts(
            [Relation.NEAR if each else Relation.DIFFERENT for each in near.tolist()],
            (1 - apart / 10).tolist(),
            [{"why": "places"}] * near.size,
        )


def line(seed: int, count: int) -> pa.RecordBatch:
    """Places in crowds and chains, some of one host."""
    chance = np.random.default_rng(seed)
    at = np.round(chance.uniform(0, count / 5, count), 2)
    hosts = chance.integers(0, 6, count).astype(np.uint64)
    return pa.record_batch([at, hosts], names=["at", "host"])


def verified(method: OnALine, places: pa.RecordBatch) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Most of the pairs that are near."""
    left, right = np.triu_indices(places.num_rows, 1)
    told = method.judge(FeatureRows.of(places), left, right)
    near = told["relation"].to_numpy(zero_copy_only=False) == "near"
    near &= np.random.default_rng(1).random(left.size) < 0.8
    return left[near], right[near], told["similarity"].to_numpy()[near]


class Chained(OnALine):
    """All that is joined by near pairs is one cluster."""

    joining = Joining.COMPONENTS


@pytest.mark.parametrize(
    ("kind", "seed", "count", "most"),
    [(OnALine, 1, 300, 10_000), (OnALine, 2, 40, 20), (Chained, 3, 60, 20)],
)
def test_the_same_clusters(
    spark: SparkSession, work: Work, kind: type[OnALine], seed: int, count: int, most: int
) -> None:
    """In one task each, and with a component too large for that."""
    method, places = kind(), line(seed, count)
    left, right, similarity = verified(method, places)
    groups = method.same_host_group(places)

    def closeness(one: Rows, other: Rows) -> NDArray[np.float64]:
        told = method.judge(FeatureRows.of(places), one, other)
        near = told["relation"].to_numpy(zero_copy_only=False) == "near"
        return np.where(near, told["similarity"].to_numpy(), APART)

    # Numbers with gaps: a run's components are some pages of many.
    numbers = np.arange(places.num_rows) * 37 + 5
    if kind is Chained:
        expected = connected_components(count, left, right)
    else:
        expected = centred_clusters(groups, left, right, similarity, closeness, numbers)

    # No two pages are identical: what tells them apart is another number in each.
    distinct = {field.name: pa.array(numbers).cast(field.type) for field in COLUMNS}
    rows = pa.record_batch([*places.columns, *distinct.values()], schema=method.row_schema)
    table = pa.Table.from_batches([feature_rows(method, pa.array(numbers), rows)])
    features = spark.createDataFrame(table)
    verdicts = spark.createDataFrame(
        [
            (int(numbers[a]), int(numbers[b]), "near", float(s))
            for a, b, s in zip(left, right, similarity, strict=True)
        ],
        "left long, right long, relation string, similarity double",
    )
    pages = spark.createDataFrame(
        [(number, number, None, None, "", "") for number in numbers.tolist()],
        "number long, length long, time timestamp, observed boolean, url string, "
        "canonical_url string",
    )
    judge = PairJudge(method, features, ["near"])
    found = cluster_pages(judge, pages, verdicts, "first", work, for_one_task=most).collect()
    labels = {row["number"]: row["label"] for row in found}
    for row, number in enumerate(numbers.tolist()):
        assert labels.get(number, number) == numbers[expected[row]]
    of_number = {number: row for row, number in enumerate(numbers.tolist())}
    for each in found:
        assert each["kept"] == each["label"]
        assert each["members"] == sum(label == each["label"] for label in labels.values())
        pair = (np.array([of_number[each[name]]]) for name in ("number", "kept"))
        [verdict] = method.judge(FeatureRows.of(places), *pair).to_pylist()
        told = (None, None) if each["number"] == each["kept"] else [*verdict.values()][:2]
        assert [each["relation"], each["similarity"]] == [*told]
