"""The report as a file: what is in it, what is left out, and that it runs and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from neardup import dedup, recluster
from neardup.local.corpus import NO_PAGE
from neardup.report.findings import Room, pairs_of_clusters
from neardup.report.side_by_side import LONGEST_TEXT
from report_runs import Given, Judgement, handmade_run
from sample_pages import sample_records, write_jsonl

HOSTILE = "</script><script>document.title='run'</script><!--<img src=x onerror=alert(1)>"


def data_of(report: str) -> Any:
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', report, re.S)
    return json.loads(found)


class Elements(HTMLParser):
    """The elements of a document with their attributes, as a browser would read them."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def pages(count: int, text: str = "Some text.") -> list[Given]:
    return [
        Given(f"p{number:03d}", text, url=f"https://h{number % 3}.example/{number}")
        for number in range(count)
    ]


def test_dedup_leaves_a_report_in_the_result(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(source), tmp_path / "out", method="exact")
    report = (result.folder / "report.html").read_text("utf-8")
    assert "of 7 pages repeat another page" in report
    assert [pair["relation"] for pair in data_of(report)["pairs"]] == ["same"] * 3


def test_the_same_pages_give_the_same_bytes(tmp_path: Path) -> None:
    records = sample_records()
    source = write_jsonl(tmp_path / "pages.jsonl", records)
    first = dedup(str(source), tmp_path / "one", method="exact", workers=1)
    write_jsonl(source, records[::-1])
    second = dedup(str(source), tmp_path / "two", method="exact", workers=2)
    reports = [(each.folder / "report.html").read_bytes() for each in (first, second)]
    assert reports[0] == reports[1]


def test_a_reclustered_result_has_a_report_without_texts(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(source), tmp_path / "out", method="exact")
    again = recluster(result.folder, tmp_path / "again", threshold=0.75)
    report = (again.folder / "report.html").read_text("utf-8")
    assert "of 7 pages repeat another page" in report
    assert "<dt>Similarity threshold</dt><dd><bdi>0.75</bdi></dd>" in report
    assert "the texts of 3 listed pairs" in report
    assert [pair["texts"] for pair in data_of(report)["pairs"]] == [None] * 3


def test_the_summary_has_the_seconds_of_the_report(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(source), tmp_path / "out", method="exact")
    assert result.summary["run"]["seconds"]["report"] > 0
    again = recluster(result.folder, tmp_path / "again", threshold=0.75)
    assert again.summary["run"]["seconds"]["report"] > 0


def test_the_engine_alone_writes_no_report(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    result = dedup(str(source), tmp_path / "out", method="exact", report=False)
    assert not (result.folder / "report.html").exists()


def test_when_the_report_fails_there_is_no_result_and_the_run_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no report")

    monkeypatch.setattr("neardup.report.document.write_report", fail)
    monkeypatch.setattr("neardup.local.work.ROOM_SHARE", 0.0)  # what is in memory cannot be resumed
    source = write_jsonl(tmp_path / "pages.jsonl", sample_records())
    with pytest.raises(RuntimeError, match="no report"):
        dedup(str(source), tmp_path / "out", method="exact")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.work", "pages.jsonl"]
    monkeypatch.undo()
    dedup(str(source), tmp_path / "out", method="exact", resume=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "pages.jsonl"]


def test_pages_without_duplicates_make_a_report_too(tmp_path: Path) -> None:
    report = handmade_run(tmp_path, [Given("a"), Given("b")]).report()
    assert "None of 2 pages repeats another." in report
    assert "came without URLs" in report
    assert data_of(report)["pairs"] == []


def test_only_our_style_and_script_may_run(tmp_path: Path) -> None:
    report = handmade_run(tmp_path, pages(2), [Judgement(0, 1)], [[0, 1]]).report()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', report)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert rules["default-src"] == "'none'"
    for kind, element in (("style-src", "style"), ("script-src", "script")):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", report, re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"


def test_text_of_pages_is_never_markup(tmp_path: Path) -> None:
    hostile = [
        Given(f"{number}{HOSTILE}", HOSTILE, HOSTILE, f"https://{number}{HOSTILE}/")
        for number in range(2)
    ]
    evidence: dict[str, object] = {"why": HOSTILE, HOSTILE: [HOSTILE, "\u202e"]}
    plain = handmade_run(_made(tmp_path / "plain"), pages(2), [Judgement(0, 1)], [[0, 1]]).report()
    report = handmade_run(
        _made(tmp_path / "hostile"), hostile, [Judgement(0, 1, evidence=evidence)], [[0, 1]]
    ).report()
    found = [tag for tag, _ in Elements(report).found]
    assert found.count("script") == 2
    assert set(found) == {tag for tag, _ in Elements(plain).found}
    assert not any(name.startswith("on") for _, given in Elements(report).found for name in given)
    assert data_of(report)["pairs"][0]["a"]["title"] == HOSTILE


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_nothing_is_loaded(tmp_path: Path) -> None:
    report = handmade_run(tmp_path, pages(2), [Judgement(0, 1)], [[0, 1]]).report()
    elements = Elements(report).found
    assert len(elements) > 50
    for _, given in elements:
        assert not {"src", "srcset", "action", "style"} & given.keys()
        assert (given.get("href") or "#").startswith("#")


def test_decisions_are_told_apart(tmp_path: Path) -> None:
    pairs = [
        Judgement(0, 1, "near", 0.9),
        Judgement(1, 2, "contains", 0.7),
        Judgement(2, 3, "different", 0.6),
        Judgement(3, 4, "undecided", None),
    ]
    shown = data_of(handmade_run(tmp_path, pages(5), pairs, [[0, 1]]).report())["pairs"]
    assert [(pair["decision"], pair["relation"]) for pair in shown] == [
        ("joined", "near"),
        ("related", "contains"),
        ("rejected", "different"),
        ("rejected", "undecided"),
    ]
    assert [pair["a"]["cluster"] for pair in shown] == [0, 0, -1, -1]


def test_the_most_doubtful_pairs_come_first_and_are_kept(tmp_path: Path) -> None:
    room = Room(doubtful_pairs=2, pairs_of_clusters=0)
    pairs = [Judgement(0, number, similarity=1 - number / 100) for number in range(1, 9)]
    pairs += [Judgement(number, 9, "different", number / 10) for number in range(1, 9)]
    report = handmade_run(tmp_path, pages(10), pairs, [range(9)]).report(room)
    similarities = [pair["similarity"] for pair in data_of(report)["pairs"]]
    assert similarities == [0.92, 0.93, 0.8, 0.7]
    assert "12 judged pairs" in report


def test_every_large_cluster_has_pairs_with_its_kept_page(tmp_path: Path) -> None:
    clusters = [[3, 0, 1, 2], [4, 5]]
    pairs = [Judgement(a, b) for a in range(4) for b in range(a + 1, 4)] + [Judgement(4, 5)]
    run = handmade_run(tmp_path, pages(6), pairs, clusters)
    judged = run.outcome.judged
    chosen = pairs_of_clusters(judged, run.outcome, judged.left * 0, 300, 6)
    found = [(int(judged.left[pair]), int(judged.right[pair])) for pair in chosen]
    assert found == [(0, 3), (4, 5), (1, 3), (2, 3), (0, 1), (0, 2), (1, 2)]
    chosen = pairs_of_clusters(judged, run.outcome, judged.left * 0, 3, 2)
    found = [(int(judged.left[pair]), int(judged.right[pair])) for pair in chosen]
    assert found == [(0, 3), (4, 5), (1, 3)]


def test_a_large_run_has_one_pair_for_so_many_pages(tmp_path: Path) -> None:
    pairs = [Judgement(0, number, similarity=1 - number / 1_000) for number in range(1, 200)]
    run = handmade_run(tmp_path, pages(200), pairs, [range(200)])
    few, more = (len(data_of(run.report(Room(pages_of_a_pair=each)))["pairs"]) for each in (400, 2))
    assert (few, more) == (10, 16)  # a sixth; the six of the only cluster are among them


def test_clusters_beyond_the_room_are_left_out_and_said_so(tmp_path: Path) -> None:
    room = Room(listing_bytes=400, members_of_a_cluster=3)
    clusters = [range(10), [10, 11], [12, 13], [14, 15], [16, 17], [18, 19]]
    report = handmade_run(tmp_path, pages(20), clusters=clusters).report(room)
    listed = data_of(report)["clusters"]
    assert listed["size"][:2] == [10, 2]
    assert listed["count"][:2] == [3, 2]
    assert 2 <= len(listed["size"]) < 6
    assert f"the {6 - len(listed['size'])} smallest cluster" in report
    assert "7 pages of very large clusters" in report


def test_texts_beyond_the_room_are_left_out_and_said_so(tmp_path: Path) -> None:
    room = Room(joined_text_bytes=1_000)
    pairs = [Judgement(0, 1), Judgement(0, 2)]
    run = handmade_run(tmp_path, pages(3, text="word " * 120), pairs, [range(3)])
    report = run.report(room)
    assert [pair["texts"] is None for pair in data_of(report)["pairs"]] == [False, True]
    assert "the texts of 1 listed pair" in report


def test_long_texts_are_cut(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of a long page" for number in range(2_000))
    report = handmade_run(tmp_path, pages(2, text=text), [Judgement(0, 1)], [[0, 1]]).report()
    start, left_out, end = data_of(report)["pairs"][0]["texts"]["rows"]
    assert text.startswith(start)
    assert end in text
    assert len(start) + left_out + len(end) == LONGEST_TEXT


def test_much_evidence_is_cut_to_why(tmp_path: Path) -> None:
    evidence: dict[str, object] = {"why": "many words", "shared": ["word"] * 1_000}
    pairs = [Judgement(0, 1, evidence=evidence)]
    report = handmade_run(tmp_path, pages(2), pairs, [[0, 1]]).report()
    told = data_of(report)["pairs"][0]
    assert told["why"] == "many words"
    assert told["evidence"] == {"more": "in the tables beside this report"}


def test_duplicates_by_host(tmp_path: Path) -> None:
    urls = ["https://a.example/1", "https://a.example:443/2", "http://B.example/3", ""]
    given = [Given(f"p{place}", url=url, size=1_000) for place, url in enumerate(urls)]
    report = handmade_run(tmp_path, given, clusters=[range(4)]).report()
    assert "1 duplicate of a page on the same host, 1 of a page elsewhere" in report
    hosts = re.findall(r"<th scope=row><bdi>([^<]*)</bdi><td class=\"number\">(\d+)", report)
    assert hosts == [("a.example", "2"), ("b.example", "1")]


def test_cluster_sizes_are_counted_in_classes(tmp_path: Path) -> None:
    clusters = [range(7), [7, 8], [9, 10], [11, 12, 13]]
    report = handmade_run(tmp_path, pages(15), clusters=clusters).report()
    rows = re.findall(r'<th scope=row>([\d–]+)<td class="bar">.*?<td class="number">(\d+)', report)
    assert rows == [("2", "2"), ("3", "1"), ("4", "0"), ("5–7", "1")]


def test_a_page_of_an_earlier_run_has_no_text_to_show(tmp_path: Path) -> None:
    run = handmade_run(tmp_path, pages(2), [Judgement(0, 1)], [[0, 1]])
    run.outcome.corpus.parts[0].numbers[1] = NO_PAGE  # not among the pages read in this run
    assert data_of(run.report())["pairs"][0]["texts"] is None
