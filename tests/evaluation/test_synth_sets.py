"""Generated sets: the plan, the pages, the files."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from neardup.api import read_pages
from neardup.errors import OutputError, UsageError
from neardup.evaluation.synth import synth, write_set
from neardup.evaluation.synth.layouts import LAYOUTS, make_site, make_theme
from neardup.evaluation.synth.plan import KINDS, REPRINTS, make_plan
from neardup.model import Page


def rows(**changes: object) -> list[dict[str, object]]:
    settings: dict[str, object] = {"pages": 600, "seed": 3, **changes}
    return [row for batch in synth(**settings) for row in batch.to_pylist()]  # type: ignore[arg-type]


def truth(folder: Path) -> dict[str, tuple[str, str]]:
    with (folder / "truth.csv").open(newline="", encoding="utf-8") as file:
        return {row["id"]: (row["article"], row["kind"]) for row in csv.DictReader(file)}


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_plan_has_every_kind_in_its_share() -> None:
    plan = make_plan(50_000, 1, 0.5)
    assert len(plan) == 50_000
    kinds = Counter(KINDS[kind] for kind in plan.kind.tolist())
    assert set(kinds) == set(KINDS)
    reprinted = sum(kinds[kind] for kind in (*REPRINTS, "paginated"))
    assert reprinted / 50_000 == pytest.approx(0.5, abs=0.02)
    assert kinds["mirror"] / kinds["trimmed"] == pytest.approx(24 / 13, rel=0.1)
    ordinary = plan.part == 0
    firsts = Counter(plan.group[ordinary & (plan.copy == 0)].tolist())
    assert set(firsts.values()) == {1}


@pytest.mark.parametrize("share", [0.0, 0.01, 0.8])
def test_the_share_of_reprints_is_as_asked(share: float) -> None:
    plan = make_plan(40_000, 1, share)
    first = (plan.kind == 0) | (plan.kind == KINDS.index("form"))
    assert 1 - np.mean(first) == pytest.approx(share, abs=0.03)


def test_a_plan_without_forms_has_none() -> None:
    assert KINDS.index("form") not in make_plan(20_000, 1, 0.3, forms=False).kind


def test_pages_of_an_article_lie_far_apart() -> None:
    plan = make_plan(20_000, 1, 0.5)
    places = defaultdict(list)
    for place, group in enumerate(plan.group.tolist()):
        places[group].append(place)
    gaps = [abs(found[1] - found[0]) for found in places.values() if len(found) == 2]
    assert np.median(gaps) > 2_000


def test_the_same_seed_gives_the_same_pages_and_another_seed_others() -> None:
    assert rows(pages=60) == rows(pages=60)
    assert rows(pages=60) != rows(pages=60, seed=4)


def test_ids_urls_and_dates() -> None:
    made = rows(days=10)
    assert len({row["id"] for row in made}) == len({row["url"] for row in made}) == 600
    times = [row["time"] for row in made]
    assert 9 < (max(times) - min(times)).days <= 14  # type: ignore[type-var,operator]
    hosts = Counter(str(row["url"]).split("/")[2] for row in made)
    assert max(hosts.values()) > 40
    assert list(hosts.values()).count(1) > 2


def test_languages_and_plain_texts() -> None:
    assert all('lang="zh"' in str(row["content"]) for row in rows(pages=50, language="zh"))
    both = [str(row["content"]) for row in rows(pages=50)]
    assert 10 < sum('lang="en"' in html for html in both) < 40
    texts = rows(pages=50, language="en", texts=True)
    assert not any("<" in str(row["content"]) for row in texts)
    assert all(str(row["content"]).startswith(str(row["title"])) for row in texts)


def test_sites_have_templates_of_their_own_and_share_themes() -> None:
    sites = [make_site(1, "zh", number, 40) for number in range(40)]
    assert len({site.host for site in sites}) == 40
    assert {len(site.templates) for site in sites} == {1, 2, 3}
    themes = [template.theme for site in sites for template in site.templates]
    assert max(Counter(themes).values()) > 1
    assert {theme.layout for theme in themes} == set(LAYOUTS)
    assert make_theme(1, "zh", 3) == make_theme(1, "zh", 3)


@pytest.mark.parametrize(("code", "stop"), [("en", "."), ("zh", "。")])
def test_templates_have_sentences_too(code: str, stop: str) -> None:
    site = make_site(1, code, 0, 40)
    footers = [line for template in site.templates for line in template.footer]
    slogans = make_theme(1, code, 0).slogans
    assert footers
    assert slogans
    assert all(line.endswith(stop) for line in [*footers, *slogans])


def shingled(page: Page, width: int = 5) -> set[tuple[str, ...]]:
    """Runs of words or characters of the page's paragraphs."""
    text = page.text.replace("\n", " ")
    units = [c for c in text if c.isalpha()] if page.script.startswith("Han") else text.split()
    return {tuple(units[n : n + width]) for n in range(len(units) - width + 1)}


@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc"])
def test_what_is_written_is_what_was_made_and_reads_back(form: str, tmp_path: Path) -> None:
    path = write_set(tmp_path, 300, 5, format=form, workers=1)
    labels = truth(tmp_path)
    pages = {page.id: page for page in read_pages(str(path))}
    assert set(pages) == set(labels)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, "truth.csv", "synth.json"}
    by_article = defaultdict(list)
    for name, (article, kind) in labels.items():
        by_article[article].append((kind, pages[name]))
    copies = {"original", "mirror", "edited", "trimmed", "extended", "reflowed", "reordered"}
    checked = 0
    for members in by_article.values():
        full = [shingled(page) for kind, page in members if kind in copies]
        for other in full[1:]:
            assert len(full[0] & other) / min(len(full[0]), len(other)) > 0.25
            checked += 1
    assert checked > 80


def test_different_articles_on_one_template_share_no_sentence() -> None:
    seen: dict[str, str] = {}
    for row in rows(pages=400, texts=True, language="en"):
        if row["kind"] in ("partial", "form"):
            continue
        for line in str(row["content"]).split("\n\n")[1:]:
            for sentence in line.split(". "):
                assert (
                    seen.setdefault(sentence.rstrip(".\n"), str(row["article"])) == (row["article"])
                )
    assert len(seen) > 1_000


def test_a_warc_holds_pages_in_their_own_charsets(tmp_path: Path) -> None:
    path = write_set(tmp_path, 500, 2, format="warc", language="zh", length="short", workers=1)
    labels = truth(tmp_path)
    found = Counter(
        page.charset for page in read_pages(str(path)) if labels[page.id][1] == "re-encoded"
    )
    assert len(found) >= 3
    assert "utf-8" not in found


def test_forms_have_the_same_names_and_other_numbers() -> None:
    forms = defaultdict(list)
    for row in rows(pages=2000, language="en", length="short"):
        if row["kind"] == "form":
            forms[str(row["article"]).split("-")[0]].append(row)
    assert forms
    for group in forms.values():
        assert len({str(row["url"]).split("/")[2] for row in group}) == 1
        assert len({row["article"] for row in group}) == len(group)
        assert len({row["content"] for row in group}) == len(group)


def test_parts_of_an_article_are_articles_of_their_own_on_two_sites() -> None:
    parts = defaultdict(list)
    for row in rows(pages=3000, language="en", length="short", texts=True):
        if "-" in str(row["article"]) and row["kind"] != "form":
            parts[str(row["article"])].append(row)
    full = [group for group in parts.values() if len(group) == 2]
    assert full
    for first, second in full:
        assert first["content"] == second["content"]
        assert {first["kind"], second["kind"]} == {"original", "paginated"}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "parquet", "warc"])
def test_the_number_of_workers_does_not_show(form: str, tmp_path: Path) -> None:
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        write_set(folder, 1100, 7, format=form, length="short", texts=True, workers=workers)
    assert digests(tmp_path / "1") == digests(tmp_path / "2")


def test_records_have_the_fields_that_readers_know(tmp_path: Path) -> None:
    import zstandard

    path = write_set(tmp_path, 5, 5, workers=1)
    with zstandard.open(path, "rt", encoding="utf-8") as lines:
        assert [set(json.loads(line)) for line in lines] == [{"id", "url", "time", "html"}] * 5


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_plain_texts_have_their_title_beside_them(form: str, tmp_path: Path) -> None:
    path = write_set(tmp_path, 5, 5, format=form, texts=True, workers=1)
    pages = list(read_pages(str(path)))
    assert len(pages) == 5
    for page in pages:
        assert page.title == page.text.split("\n")[0] != ""


def test_a_set_takes_the_place_of_an_earlier_one_whole_or_broken(tmp_path: Path) -> None:
    write_set(tmp_path, 5, 1, format="parquet", workers=1)
    (tmp_path / ".pages.warc.gz.tmp").write_bytes(b"of a run that was killed")
    path = write_set(tmp_path, 5, 2, workers=1)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, "truth.csv", "synth.json"}
    about = json.loads((tmp_path / "synth.json").read_text())
    assert (about["pages"], about["seed"], about["language"]) == (5, 2, "both")


def test_a_set_that_was_not_generated_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("id,article\na,1\n")
    with pytest.raises(OutputError, match="was not generated"):
        write_set(tmp_path, 5, workers=1)
    assert (tmp_path / "truth.csv").read_text() == "id,article\na,1\n"


def test_hosts_have_as_many_pages_as_asked() -> None:
    few, many = (
        {str(row["url"]).split("/")[2] for row in rows(pages=600, pages_per_host=wanted)}
        for wanted in (4, 60)
    )
    assert len(few) > 4 * len(many)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pages": 0}, "at least 1 page"),
        ({"pages_per_host": 0}, "1 page per host"),
        ({"reprints": 1.0}, "from 0 to 0.9"),
        ({"language": "fr"}, "unknown language 'fr'; there are: en, zh, both"),
        ({"length": "long"}, "unknown length"),
    ],
)
def test_bad_settings_are_told(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows(**changes)


def test_a_bad_format_and_a_bad_place_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'xml'"):
        write_set(tmp_path, 5, format="xml")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="cannot write"):
        write_set(tmp_path / "file", 5, workers=1)
