"""Every method through one suite: what the engine relies on, whatever the method.

Gaps are declared at the top, each with its reason.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup import dedup
from neardup.config import describe_options
from neardup.local.features import Features, candidates_in_memory, survey_batch
from neardup.methods.base import MemoryState, Method, assigner
from neardup.methods.registry import BUILT_IN, make_method, method_class
from neardup.model import RawPage, Relation, Source
from neardup.pages.raw import raw_batch
from neardup.schemas import ASSIGNED, KEYS, VERDICTS
from neardup.text.parse import parse
from neardup.text.views import View
from page_batches import judge_rows
from sample_pages import long_html, sample_records, short_html, write_jsonl

METHODS = list(BUILT_IN)
# The others decide page by page in the order of (time, id), which the engine fixes.
ORDERLESS = [name for name in METHODS if assigner(make_method(name)) is None]
TOPICS = ["harbour", "railway", "orchard", "茶山", "渡口"]


def raw(number: int, html: str) -> RawPage:
    url = f"http://host{number}.example/{number}"
    return RawPage(f"p{number:02d}", html.encode(), True, Source("test", number), url)


def batch(*pages: str) -> pa.RecordBatch:
    return parse(raw_batch([raw(number, html) for number, html in enumerate(pages)]))


def features(method: Method, pages: pa.RecordBatch) -> pa.RecordBatch:
    return method.describe(pages, survey_batch(method, pages))


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> Method:
    return make_method(request.param)


def test_it_says_what_it_is(method: Method) -> None:
    assert method.name in BUILT_IN
    assert method.paper
    assert method.languages
    assert method.cost
    assert all(info.help for info in describe_options(method.Options))


def test_the_paper_preset_is_made_of_its_own_options(method: Method) -> None:
    names = {info.name for info in describe_options(method.Options)}
    assert set(method.paper_preset) <= names
    if method.paper_preset:
        make_method(method.name, preset="paper")


def test_features_are_one_row_a_page_in_the_declared_schema(method: Method) -> None:
    pages = batch(*(long_html(topic) for topic in TOPICS), short_html())
    found = features(method, pages)
    assert found.schema.equals(method.row_schema)
    assert found.num_rows == len(TOPICS) + 1


def test_no_pages_give_no_rows(method: Method) -> None:
    pages = batch(long_html("harbour")).slice(0, 0)
    found = features(method, pages)
    assert found.num_rows == 0
    assert judge_rows(method, found, found).num_rows == 0
    assert len(method.decidable(found)) == 0


def test_features_do_not_depend_on_the_batch(method: Method) -> None:
    pages = batch(*(long_html(topic) for topic in TOPICS), short_html())
    survey = survey_batch(method, pages)
    whole = method.describe(pages, survey)
    for row in range(pages.num_rows):
        alone = method.describe(pages.slice(row, 1), survey)
        assert alone.to_pylist() == whole.slice(row, 1).to_pylist()


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_with_enough_text_equals_itself(method: Method, topic: str) -> None:
    pages = batch(*(long_html(each) for each in [topic, topic, *TOPICS]))
    found = features(method, pages)
    verdict = judge_rows(method, found.slice(0, 1), found.slice(1, 1)).to_pylist()[0]
    assert method.decidable(found).to_pylist()[0]
    assert Relation(verdict["relation"]) in (Relation.SAME, Relation.NEAR)
    assert verdict["similarity"] == 1.0


def test_a_page_with_too_little_text_is_undecided_even_against_itself(method: Method) -> None:
    found = features(method, batch(short_html(), short_html(), long_html("harbour")))
    assert method.decidable(found).to_pylist() == [False, False, True]
    verdict = judge_rows(method, found.slice(0, 1), found.slice(1, 1)).to_pylist()[0]
    assert verdict["relation"] == "undecided"
    assert verdict["similarity"] is None
    assert not {0, 1} & set(method.keys(found)["row"].to_pylist())


def test_verdicts_are_whole_and_symmetric(method: Method) -> None:
    texts = [*(long_html(topic) for topic in TOPICS), long_html("harbour", edited=True)]
    found = features(method, batch(*texts))
    left, right = (side.ravel() for side in np.meshgrid(range(len(texts)), range(len(texts))))
    stored = Features.in_memory(found)
    there = judge_rows(method, stored.take(left), stored.take(right))
    back = judge_rows(method, stored.take(right), stored.take(left))
    assert there.schema.equals(VERDICTS)
    for one, other in zip(there.to_pylist(), back.to_pylist(), strict=True):
        assert Relation(one["relation"]).reverse == Relation(other["relation"])
        assert one["similarity"] == other["similarity"]
        assert one["similarity"] is None or 0.0 <= one["similarity"] <= 1.0
        assert json.loads(one["evidence"])["why"]


@pytest.mark.parametrize("view", View)
def test_every_line_has_a_weight(method: Method, view: View) -> None:
    method = make_method(method.name, view=view)
    pages = batch(long_html("harbour"), "", long_html("茶山"))
    weights = method.line_weights(pages, survey_batch(method, pages))
    assert [len(each) for each in weights] == [len(each) for each in pages["kinds"]]
    assert all(0.0 <= weight <= 1.0 for weight in weights.flatten().to_pylist())
    assert max(weights[0].as_py()) == 1.0


def test_keys_point_into_the_batch(method: Method) -> None:
    found = features(method, batch(*(long_html(topic) for topic in TOPICS)))
    keys = method.keys(found)
    assert keys.schema.equals(KEYS)
    assert set(keys["row"].to_pylist()) <= set(range(found.num_rows))


def test_copies_are_found_among_others(method: Method) -> None:
    pages = batch(*(long_html(topic) for topic in [*TOPICS, "harbour", "茶山"]))
    found = features(method, pages)
    if (decides := assigner(method)) is not None:
        assigned = decides.assign(pages["id"], found, MemoryState())
        assert assigned.schema.equals(ASSIGNED)
        matches = assigned["match"].to_pylist()
        assert matches[len(TOPICS) :] == ["p00", "p03"]
        assert matches[: len(TOPICS)] == [None] * len(TOPICS)
        return
    left, right = candidates_in_memory(method, pa.Table.from_batches([found]))
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert {(0, 5), (3, 6)} <= pairs


@pytest.mark.parametrize("name", ORDERLESS)
def test_candidates_do_not_depend_on_the_order_of_pages(name: str) -> None:
    method = make_method(name)
    texts = [long_html(topic, edited=edited) for topic in TOPICS for edited in (False, True)]
    order = list(range(len(texts)))
    random.Random(4).shuffle(order)
    found = pa.Table.from_batches([features(method, batch(*texts))])
    shuffled = pa.Table.from_batches([features(method, batch(*(texts[i] for i in order)))])
    pairs = {tuple(pair) for pair in np.transpose(candidates_in_memory(method, found)).tolist()}
    others = np.transpose(candidates_in_memory(method, shuffled)).tolist()
    assert {tuple(sorted((order[a], order[b]))) for a, b in others} == pairs


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_described(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "methods" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    for info in describe_options(method_class(name).Options):
        assert f"`{info.name}`" in text, f"{page.name} does not tell of {info.name}"


@pytest.mark.parametrize("view", list(View))
@pytest.mark.parametrize("name", METHODS)
def test_every_method_runs_on_every_view(name: str, view: View, tmp_path: Path) -> None:
    """Copies are found on each view, and other pages are left alone."""
    pages = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(pages), tmp_path / "result", method=name, view=view, report=False)
    assert result.summary["view"] == view
    assert result.summary["counts"]["pages"] > 0
    again = dedup(str(pages), tmp_path / "again", method=name, view=view, report=False, workers=1)
    assert list(again.pages()) == list(result.pages())
