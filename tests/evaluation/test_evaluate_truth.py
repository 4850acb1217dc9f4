"""Labelled sets, read."""

from __future__ import annotations

from pathlib import Path

import pytest

from neardup.errors import InputError
from neardup.evaluation.sets import ClusterTruth, PairTruth, read_set, read_truth


def labels(folder: Path, text: str, name: str = "truth.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_clusters_with_and_without_kinds(tmp_path: Path) -> None:
    truth = read_truth(labels(tmp_path, "id,article,kind\na,1,original\nb,1,excerpt\n"))
    assert isinstance(truth, ClusterTruth)
    assert truth.articles == {"a": "1", "b": "1"}
    assert truth.judged == ["a"]
    bare = read_truth(labels(tmp_path, "article,id\n1,a\n1,页\n"))
    assert isinstance(bare, ClusterTruth)
    assert bare.judged == ["a", "页"]


def test_labelled_pairs(tmp_path: Path) -> None:
    truth = read_truth(labels(tmp_path, "a,b,label\nx,y,1\nx,z,no\ny,z,Duplicate\n"))
    assert truth == PairTruth([("x", "y"), ("x", "z"), ("y", "z")], [True, False, True])


def test_grades_count_from_half_of_the_highest_or_as_asked(tmp_path: Path) -> None:
    path = labels(tmp_path, "a,b,grade\nx,y,4\nx,z,2\ny,z,1\n")
    assert read_truth(path) == PairTruth(
        [("x", "y"), ("x", "z"), ("y", "z")], [True, True, False], 2.0
    )
    strict = read_truth(path, duplicate_from=3)
    assert isinstance(strict, PairTruth)
    assert strict.labels == [True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no labels"),
        ("id,article\n", "has no labels"),
        ("id,cluster\na,1\n", "the columns must be"),
        ("id,article\na,1\na,2\n", "line 3: 'a' appears twice"),
        ("id,article\na,\n", "line 2: 'a' has no article"),
        ("a,b,label\nx,y,maybe\n", "line 2: the label 'maybe'"),
        ("a,b,label\nx,y\n", "line 2: the label None"),
        ("a,b,label\nx,x,1\n", "is not a pair of two pages"),
        ("a,b,grade\nx,y,high\n", "line 2: the grade 'high'"),
    ],
)
def test_bad_labels_are_told_with_their_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_truth(labels(tmp_path, text))


def test_a_set_is_a_folder_with_pages_and_labels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a directory"):
        read_set(tmp_path / "nowhere")
    with pytest.raises(InputError, match="has no pages"):
        read_set(tmp_path)
    (tmp_path / "pages.jsonl").write_text("")
    with pytest.raises(InputError, match="has no labels"):
        read_set(tmp_path)
    labels(tmp_path, "a,b,label\nx,y,1\n", "pairs.csv")
    found = read_set(tmp_path)
    assert found.name == tmp_path.name
    assert found.pages == tmp_path / "pages.jsonl"
    assert isinstance(found.truth, PairTruth)


def test_labels_that_are_not_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_bytes(b"id,article\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="cannot read the labels"):
        read_truth(tmp_path / "truth.csv")
