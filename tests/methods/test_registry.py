"""Methods by name, class, instance and `module:Class`, and one of somebody else's everywhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import neardup
from neardup.errors import UsageError
from neardup.evaluation.runs import Contender
from neardup.methods.base import Method
from neardup.methods.exact import Exact, ExactOptions
from neardup.methods.registry import make_method, method_class, reference
from neardup.text.views import View
from sample_pages import long_html, sample_records, write_jsonl

DOC = Path(__file__).parents[2] / "docs" / "methods" / "writing-a-method.md"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[type[Method]]:
    """The method that the documentation writes, in a package of its own."""
    [code] = re.findall(r"```python\n(from dataclasses.*?)```", DOC.read_text("utf-8"), re.DOTALL)
    folder = tmp_path_factory.mktemp("package")
    (folder / "names_example.py").write_text(code, encoding="utf-8")
    sys.path.insert(0, str(folder))
    yield method_class("names_example:Names")
    sys.path.remove(str(folder))
    sys.modules.pop("names_example")


def test_a_name_a_class_an_instance_and_a_place_are_the_same_method() -> None:
    for method in ("exact", Exact, Exact(), "neardup.methods.exact:Exact"):
        assert isinstance(make_method(method), Exact)
        assert reference(make_method(method)) == "exact"


def test_an_instance_comes_with_its_options() -> None:
    with pytest.raises(UsageError, match="pass no others"):
        make_method(Exact(), {"minimum_text": 3})


@pytest.mark.parametrize("name", ["exakt", "neardup.methods.exact:Inexact", "os:path", "no.such:X"])
def test_what_is_no_method_is_an_error(name: str) -> None:
    with pytest.raises(UsageError):
        make_method(name)


def test_a_wrong_name_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean 'own-text'"):
        make_method("own_text")


@pytest.mark.parametrize(
    ("preset", "values", "view", "expected"),
    [
        ("default", {}, None, View.OWN),
        ("paper", {}, None, View.OWN),  # cleaning is a step of the paper
        ("paper", {"site_blocks": "true"}, None, View.OWN),
        ("default", {"site_blocks": False}, None, View.MAIN),
        ("default", {}, "whole", View.WHOLE),
    ],
)
def test_views(preset: str, values: dict[str, Any], view: str | None, expected: View) -> None:
    method = make_method("news-clusters", values, preset=preset, view=view)
    assert method.view is expected


def test_an_unknown_view_is_an_error() -> None:
    with pytest.raises(UsageError, match="there are: whole, main, own"):
        make_method("exact", view="half")


def test_a_method_of_somebody_elses_in_a_run(tmp_path: Path, example: type[Method]) -> None:
    pages = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = neardup.dedup(str(pages), tmp_path / "result", method=example, report=False)
    assert result.summary["method"] == "names_example:Names"
    again = neardup.recluster(tmp_path / "result", tmp_path / "again", threshold=0.6, report=False)
    assert again.summary["counts"] == result.summary["counts"]
    new = write_jsonl(tmp_path / "new.jsonl", [{"id": "new", "html": long_html("harbour")}])
    more = neardup.dedup(
        str(new), tmp_path / "more", method="names_example:Names", against=tmp_path / "result"
    )
    assert more.summary["counts"]["pages"] == result.summary["counts"]["pages"] + 1


def test_a_method_of_somebody_elses_in_an_index(tmp_path: Path, example: type[Method]) -> None:
    url = f"sqlite:///{tmp_path / 'index.db'}"
    text = "Anna met Boris in Cairo, and Dora wrote to Emil from Faro."
    with neardup.Index.open(url, example) as index:
        assert not index.add(neardup.text_page(text, id="a")).duplicate
    with neardup.Index.open(url) as index:
        assert type(index.method).__name__ == "Names"
        assert index.add(neardup.text_page(text + " Gone.", id="b")).of == "a"


def test_a_method_of_somebody_elses_is_measured(example: type[Method]) -> None:
    contender = Contender.named("names_example:Names:threshold=0.8:view=main")
    assert contender.method == "names_example:Names"
    assert contender.options == {"threshold": "0.8"}
    assert contender.view == "main"
    assert example.name == "names"


def test_options_of_the_example(example: type[Method]) -> None:
    assert make_method(example, {"threshold": 0.9}).options.threshold == 0.9
    assert isinstance(Exact(ExactOptions()), Exact)
