"""Generated sets: the plan, the pages, the files."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup.api import read_pages
from neardup.errors import OutputError, UsageError
from neardup.evaluation.synth import synth, write_set
from neardup.evaluation.synth.layouts import LAYOUTS, consent_text, make_site, make_theme
from neardup.evaluation.synth.plan import (
    KINDS,
    LOOKALIKES,
    MOST_COPIES,
    PROFILES,
    REPRINTS,
    Plan,
    Settings,
    make_plan,
)
from neardup.model import Page

FROZEN = "2026-11"
# SHA-256 of 300 pages of each profile, language and seed: a published profile never changes
PINNED = {
    ("2026-11", "en", 1, False): "fc798b717c949c0cfa7ccd16c695bab9c4ec8c4bce7159d5d034a1ec1bd41663",
    ("2026-11", "zh", 1, False): "e3e2b0c7c9898649f16f920e284e982725f40d6e0bce68c5e4dbef25b9b9c098",
    (
        "2026-11",
        "both",
        2,
        False,
    ): "4c43666471f3cfdb8edd14579f5b4c7a1202de5503086455035d3ae573662903",
    (
        "2026-11",
        "both",
        3,
        True,
    ): "9a64d314d1aba27abf1d3e152efae4fd86729bfeb72b7d22cf2b72f0045ec4f4",
    ("2026-12", "en", 1, False): "48af6151ed831ac91f373dbf4b1ec5049826bf8f0c81765de588b460937e460c",
    ("2026-12", "zh", 1, False): "798851f5f8e8c94d13eac9757da8913aeb98d208b8fb2eebb33cfc6683a280ae",
    (
        "2026-12",
        "both",
        2,
        False,
    ): "1e9501ef298b64e8104ef1d2470967793c9a220a9ded16be555b5cb27008e2c9",
    (
        "2026-12",
        "both",
        3,
        True,
    ): "c5a5f02cdde9252ec1fedb9190d5872cd2e9b7ca5088bf68de5ea2a58870f6cb",
}


def rows(**changes: object) -> list[dict[str, object]]:
    settings: dict[str, object] = {"pages": 600, "seed": 3, **changes}
    return [row for batch in synth(**settings) for row in batch.to_pylist()]  # type: ignore[arg-type]


def truth(folder: Path) -> dict[str, tuple[str, str]]:
    with (folder / "truth.csv").open(newline="", encoding="utf-8") as file:
        return {row["id"]: (row["article"], row["kind"]) for row in csv.DictReader(file)}


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def planned(pages: int, *, seed: int = 1, **changes: Any) -> Plan:
    return make_plan(Settings(pages, seed, **changes).checked())


def digest(**changes: object) -> str:
    lines = [repr([str(value) for value in row.values()]) for row in rows(**changes)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("settings", PINNED)
def test_the_pages_of_a_profile_never_change(settings: tuple[str, str, int, bool]) -> None:
    profile, language, seed, texts = settings
    made = digest(pages=300, profile=profile, language=language, seed=seed, texts=texts)
    assert made == PINNED[settings]


def test_every_profile_is_pinned() -> None:
    assert {profile for profile, *_ in PINNED} == set(PROFILES)


def test_the_plan_has_every_kind_in_its_share() -> None:
    plan = planned(50_000, profile=FROZEN)
    assert len(plan) == 50_000
    kinds = Counter(KINDS[kind] for kind in plan.kind.tolist())
    assert set(kinds) == {*KINDS} - {*LOOKALIKES} | {"form"}
    assert not plan.visit.any()
    reprinted = sum(kinds[kind] for kind in (*REPRINTS, "paginated"))
    assert reprinted / 50_000 == pytest.approx(0.5, abs=0.02)
    assert kinds["mirror"] / kinds["trimmed"] == pytest.approx(24 / 13, rel=0.1)
    ordinary = plan.part == 0
    firsts = Counter(plan.group[ordinary & (plan.copy == 0)].tolist())
    assert set(firsts.values()) == {1}


@pytest.mark.parametrize("share", [0.0, 0.01, 0.8])
def test_the_share_of_reprints_is_as_asked(share: float) -> None:
    plan = planned(40_000, reprints=share, copies=0.0)
    first = (plan.kind == 0) | (plan.kind >= KINDS.index("form"))
    assert 1 - np.mean(first) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.6])
def test_the_share_of_copies_on_their_own_host_is_as_asked(share: float) -> None:
    plan = planned(40_000, copies=share)
    assert np.mean(plan.visit > 0) == pytest.approx(share, abs=0.03)
    assert np.array_equal(plan.visit > 0, plan.change > 0)
    assert plan.visit.max() == MOST_COPIES


def test_a_plan_without_lookalikes_has_none() -> None:
    assert (planned(20_000).kind >= KINDS.index("form")).any()
    assert not (planned(20_000, lookalikes=False).kind >= KINDS.index("form")).any()


def test_pages_of_an_article_lie_far_apart() -> None:
    plan = planned(20_000, profile=FROZEN)
    places = defaultdict(list)
    for place, group in enumerate(plan.group.tolist()):
        places[group].append(place)
    gaps = [abs(found[1] - found[0]) for found in places.values() if len(found) == 2]
    assert np.median(gaps) > 2_000


def test_the_same_seed_gives_the_same_pages_and_another_seed_others() -> None:
    assert rows(pages=60) == rows(pages=60)
    assert rows(pages=60) != rows(pages=60, seed=4)


def test_ids_urls_and_dates() -> None:
    made = rows(days=10, profile=FROZEN)
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
    settings = Settings(40 * 8, 1, language="zh")
    sites = [make_site(settings, "zh", number) for number in range(40)]
    assert len({site.host for site in sites}) == 40
    assert {len(site.templates) for site in sites} == {1, 2, 3}
    themes = [template.theme for site in sites for template in site.templates]
    assert max(Counter(themes).values()) > 1
    assert {theme.layout for theme in themes} == set(LAYOUTS)
    assert make_theme(settings, "zh", 3) == make_theme(settings, "zh", 3)


@pytest.mark.parametrize(("code", "stop"), [("en", "."), ("zh", "。")])
def test_templates_have_sentences_too(code: str, stop: str) -> None:
    for stops in (True, False):
        settings = Settings(320, 1, template_stops=stops)
        site = make_site(settings, code, 0)
        footers = [line for template in site.templates for line in template.footer]
        slogans = make_theme(settings, code, 0).slogans
        assert footers
        assert slogans
        lines = [*footers, *slogans, *consent_text(settings, code, 0)]
        assert all(line.endswith(stop) == stops for line in lines)
        assert stops or not any(stop in line for line in lines)


def test_comments_lose_their_full_stops_and_articles_keep_them() -> None:
    def lines(**changes: object) -> list[str]:
        pages = [str(row["content"]) for row in rows(pages=60, language="zh", **changes)]
        return re.sub(r"<[^>]*>", "\n", "\n".join(pages)).split("\n")

    with_stops, without = lines(), lines(template_stops=False)
    assert [line.removesuffix("。") for line in with_stops] == (
        [line.removesuffix("。") for line in without]
    )
    ends = [sum(line.endswith("。") for line in each) for each in (without, with_stops)]
    assert 0.4 < ends[0] / ends[1] < 0.8


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
    left_out = {"excerpt", "partial", "re-encoded"}
    checked = 0
    for members in by_article.values():
        full = [shingled(page) for kind, page in members if not left_out & {*kind.split("+")}]
        for other in full[1:]:
            assert len(full[0] & other) / min(len(full[0]), len(other)) > 0.2
            checked += 1
    assert checked > 80


def test_different_articles_on_one_template_share_no_sentence() -> None:
    seen: dict[str, str] = {}
    for row in rows(pages=400, texts=True, language="en", profile=FROZEN):
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
        page.charset for page in read_pages(str(path)) if "re-encoded" in labels[page.id][1]
    )
    assert len(found) >= 3
    assert "utf-8" not in found


def test_forms_have_the_same_names_and_other_numbers() -> None:
    forms = defaultdict(list)
    for row in rows(pages=2000, language="en", length="short", profile=FROZEN):
        if row["kind"] == "form":
            forms[str(row["article"]).split("-")[0]].append(row)
    assert forms
    for group in forms.values():
        assert len({str(row["url"]).split("/")[2] for row in group}) == 1
        assert len({row["article"] for row in group}) == len(group)
        assert len({row["content"] for row in group}) == len(group)


def test_parts_of_an_article_are_articles_of_their_own_on_two_sites() -> None:
    parts = defaultdict(list)
    for row in rows(pages=3000, language="en", length="short", texts=True, profile=FROZEN):
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
    (tmp_path / ".pages.warc.gz.9.tmp").write_bytes(b"of a run that was killed")
    path = write_set(tmp_path, 5, 2, workers=1)
    assert {each.name for each in tmp_path.iterdir()} == {path.name, "truth.csv", "synth.json"}
    about = json.loads((tmp_path / "synth.json").read_text())
    assert (about["pages"], about["seed"], about["language"]) == (5, 2, "both")
    assert (about["profile"], about["copies"]) == ("2026-12", 0.25)


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
        ({"profile": "2025"}, "unknown profile '2025'; there are: 2026-11, 2026-12"),
        ({"copies": 0.9}, "share of copies must be from 0 to 0.8"),
        ({"profile": FROZEN, "copies": 0.1}, "2026-11 has no copies"),
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
