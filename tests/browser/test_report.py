"""The report in a browser: by mouse, by keyboard, on a phone, in the dark, with hostile pages."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

import neardup
from contrast import CONTRAST
from neardup.cli.warm_up import DEMO_PAGES
from report_runs import Given, Judgement, handmade_run
from sample_pages import ARTICLES

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MANY = 100_000
HOSTILE = [
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'><svg onload='window.ran = 1'>",
    "<!--<script>window.ran = 1",
    "]]>{{7*7}}${window.ran = 1}`;window.ran=1//",
    "turned \u202e round \u2066 and \x00 nothing \x1b[31m",
    "long " + "x" * 9_000,
    "line\u2028separator",
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three clusters (English, Chinese, many), a related pair and a rejected one."""
    ferry, bridge, tea = ("\n".join(ARTICLES[name]) for name in ("ferry", "bridge", "茶"))
    pages = [
        Given("f1", ferry, "The ferry", "https://a.example/ferry", 3_000),
        Given("f2", ferry.replace("twenty", "thirty"), "Ferry news", "https://b.example/f", 2_000),
        Given("f3", ferry + "\nMore on the next page.", "The ferry, page 1", "https://c.example/f"),
        Given("t1", tea, "春茶", "https://a.example/tea"),
        Given("t2", tea.replace("气温", "氣溫"), "春茶上市", "https://b.example/tea"),
        Given("x1", bridge, "The bridge", "https://a.example/bridge"),
    ]
    evidence: dict[str, object] = {
        "why": "28 of 31 words are the same",
        "words": [31, 31],
        "host": {"same": False},
    }
    pairs = [
        Judgement(0, 1, "near", 0.93, evidence),
        Judgement(0, 2, "contained", 0.88),
        Judgement(1, 2, "near", 0.84),
        Judgement(1, 5, "different", 0.31, {"why": "only 4 words are the same"}),
        Judgement(2, 5, "overlap", 0.4),
        Judgement(3, 4, "near", 0.97),
    ]
    folder = tmp_path_factory.mktemp("report")
    handmade_run(folder, pages, pairs, [[0, 1, 2], [3, 4]]).report()
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Pages that try to be more than text, everywhere a page can put something."""
    pages = [
        Given(f"{place} {text}", f"{text}\nshared line\n{text}", text, f"https://h.example/{text}")
        for place, text in enumerate(HOSTILE)
    ]
    pages.append(Given("z", "Some text.", "A link", "javascript:window.ran=1"))
    pairs = [
        Judgement(place, place + 1, "near", 0.9, {"why": text, text: [text, {text: text}]})
        for place, text in enumerate(HOSTILE)
    ]
    folder = tmp_path_factory.mktemp("hostile")
    handmade_run(folder, pages, pairs, [range(len(pages))]).report()
    return (folder / "report.html").as_uri()


def expect(found: Locator) -> Any:
    """Assertions that wait; playwright need not be there when this file is collected."""
    from playwright.sync_api import expect as expecting

    return expecting(found)


def shown(page: Page) -> Locator:
    """The heading of the view that is shown, for `expect`: only one is, a moment after a click."""
    return page.locator("main > section:not([hidden]) > h1")


def titles(page: Page) -> list[str]:
    return page.locator("#cluster-list summary .title").all_inner_texts()


def test_the_overview_tells_what_was_found(open_watched: Any, report: str) -> None:
    page = open_watched(report)
    expect(shown(page)).to_have_text(re.compile("^3 of 6 pages repeat another page."))
    assert page.locator(".hosts tbody tr").count() == 2
    assert page.locator(".histogram").count() == 3


def test_the_overview_reads_without_scripts(open_watched: Any, browser: Any, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    assert "3 of 6 pages" in page.inner_text("main")
    assert "need JavaScript" in page.inner_text("main")
    context.close()


def test_clusters_are_searched_ordered_and_filtered(open_watched: Any, report: str) -> None:
    page = open_watched(report + "#clusters")
    assert titles(page) == ["The ferry", "春茶"]
    page.get_by_label("Search titles, ids and URLs").fill("B.example TEA")
    expect(page.locator("#cluster-list > li")).to_have_count(1)
    assert titles(page) == ["春茶"]
    assert page.inner_text("#cluster-status") == "1 cluster"
    page.get_by_label("Search titles, ids and URLs").fill("nothing like it")
    expect(page.locator("#cluster-list > li")).to_have_count(0)
    assert page.inner_text("#cluster-status") == "No cluster matches."
    page.get_by_label("Search titles, ids and URLs").fill("")
    page.get_by_label("Hosts").select_option("One host")
    assert titles(page) == []


def test_a_cluster_opens_to_its_pages_and_a_page_to_its_pair(
    open_watched: Any, report: str
) -> None:
    page = open_watched(report + "#clusters")
    page.locator("#cluster-list summary").first.click()
    rows = page.locator("#cluster-list tbody tr")
    expect(rows).to_have_count(3)
    assert "kept" in rows.nth(0).inner_text()
    assert rows.nth(1).locator("a.address").get_attribute("href") == "https://b.example/f"
    rows.nth(1).get_by_role("link", name="Compare").click()
    expect(shown(page)).to_have_text("A and B are nearly the same")
    page.get_by_role("link", name="its cluster").first.click()
    expect(shown(page)).to_have_text("Clusters")
    expect(page.locator("details[open] tbody tr")).to_have_count(3)


def test_a_pair_shows_reason_evidence_and_marked_texts(open_watched: Any, report: str) -> None:
    page = open_watched(report + "#pairs")
    page.get_by_role("link", name="28 of 31 words").click()
    view = page.locator("#view-pair")
    expect(view).to_contain_text("28 of 31 words are the same")
    evidence = view.locator("dl.evidence").inner_text()
    assert re.search(r"words of A, of B\s+31, 31", evidence)
    assert "same: no" in evidence
    assert [each.strip() for each in view.locator(".texts del").all_inner_texts()] == ["twenty"]
    assert [each.strip() for each in view.locator(".texts ins").all_inner_texts()] == ["thirty"]
    left = "".join(view.locator(".texts .side-a").all_inner_texts())
    assert "will run every twenty minutes" in left
    page.get_by_label("Only the differences").check()
    assert view.locator(".row.shared:visible").count() == 0
    assert view.locator(".row:visible").count() == 1


def test_what_does_not_count_is_folded(open_watched: Any, tmp_path: Path) -> None:
    """A real run: the menus of two sites stand aside, and the bars say how much counts."""
    result = neardup.dedup(str(DEMO_PAGES), tmp_path / "demo")
    page = open_watched((result.folder / "report.html").as_uri() + "#pair-0")
    assert re.search(r"% of A's own text and \d+% of B's is shared", page.inner_text(".why"))
    folded = page.locator(".texts details.folded")
    assert folded.count() >= 1
    assert "Does not count" in folded.first.inner_text()
    assert folded.locator("del, ins").count() == 0
    folded.first.locator("summary").click()
    assert folded.first.locator(".cell").first.is_visible()
    assert page.locator(".map .left-out").count() >= 2
    assert re.search(r"\d+% shared · [\d,]+ of [\d,]+ characters count", page.inner_text(".map"))


def test_what_is_written_differently_is_no_difference(open_watched: Any, report: str) -> None:
    page = open_watched(report + "#pairs")
    page.get_by_role("link", name="春茶").click()
    expect(page.locator(".texts .side-a u")).to_have_text(["气温"])
    expect(page.locator(".texts .side-b u")).to_have_text(["氣溫"])
    assert page.locator(".texts del, .texts ins").count() == 0


def test_pairs_are_filtered_by_decision_and_words(open_watched: Any, report: str) -> None:
    page = open_watched(report + "#pairs")
    entries = page.locator("#pair-list > li")
    assert entries.count() == 6
    page.get_by_role("checkbox", name="In one cluster").uncheck()
    page.get_by_role("checkbox", name="Related, kept apart").uncheck()
    assert entries.count() == 1
    assert "only 4 words are the same" in entries.first.inner_text()
    page.get_by_role("checkbox", name="In one cluster").check()
    page.get_by_label("Search titles, ids, URLs and reasons").fill("28 of 31")
    expect(page.locator("#pair-list > li")).to_have_count(1)


def test_everything_is_reached_by_keyboard(open_watched: Any, report: str) -> None:
    page = open_watched(report)
    press = page.keyboard.press
    press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(2):
        press("Tab")
    press("Enter")
    expect(shown(page)).to_have_text("Clusters")
    assert page.evaluate("document.activeElement.id") == "clusters-heading"
    for _ in range(4):
        press("Tab")
    press("ArrowDown")
    press("ArrowUp")
    assert "The ferry" in page.evaluate("document.activeElement.textContent")
    press("Enter")
    expect(page.locator("details[open]")).to_have_count(1)
    page.goto(report + "#pairs")
    page.locator("#pair-list a").first.focus()
    press("End")
    press("Enter")
    expect(page.locator("#previous")).to_have_attribute("href", "#pair-4")
    press("ArrowLeft")
    expect(page.locator("#next")).to_have_attribute("href", "#pair-5")
    press("ArrowRight")
    expect(page.locator("#previous")).to_have_attribute("href", "#pair-4")
    press("Escape")
    expect(page.locator("#view-pairs")).to_be_visible()


def test_actions_are_filtered_and_saved(open_watched: Any, report: str) -> None:
    page = open_watched(report + "#actions", allowed=("file:", "blob:"))
    expect(shown(page)).to_have_text("Actions")
    entries = page.locator("#action-list > li")
    assert entries.count() == 3
    assert "set the canonical link to" in entries.first.inner_text()
    page.get_by_label("Canonical link").select_option("right")
    assert entries.count() == 0
    saved = {}
    for button in ("Download as CSV", "Redirects for nginx", "Redirects for Apache"):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        saved[button] = Path(download.value.path()).read_text("utf-8-sig")
    assert saved["Download as CSV"].splitlines()[0].startswith('"page","keep","action"')
    assert '"https://b.example/f","https://a.example/ferry","link"' in saved["Download as CSV"]
    assert 'map "$host$request_uri"' in saved["Redirects for nginx"]
    assert "RewriteMap" in saved["Redirects for Apache"]


def test_it_speaks_chinese(open_watched: Any, tmp_path: Path) -> None:
    tea = "\n".join(ARTICLES["茶"])
    why = "85% of A's own text and 100% of B's is shared, 92% together; 71% is required"
    pages = [Given("t1", tea, "春茶", "https://a.example/1"), Given("t2", tea, "春茶上市")]
    pairs = [Judgement(0, 1, "near", 0.9, {"why": why, "left_share": 0.85, "right_share": 1.0})]
    handmade_run(tmp_path, pages, pairs, [[0, 1]]).report(language="zh")
    address = (tmp_path / "report.html").as_uri()
    page = open_watched(address)
    for view in ("overview", "cluster-0", "pairs", "pair-0", "actions"):
        page.goto(f"{address}#{view}")
        told = page.inner_text("main > section:not([hidden])")
        left = re.sub(
            r"https?:\S+|by-hand|threshold|longest|pages.jsonl|neardup|clusters|pairs|rejected",
            "",
            told,
        )
        assert not re.search("[A-Za-z]{4,}", left.replace("nginx", "").replace("Apache", "")), view
    assert page.locator("html").get_attribute("lang") == "zh"


def test_back_and_forward_go_through_the_views(open_watched: Any, report: str) -> None:
    page = open_watched(report)
    page.get_by_role("link", name="Pairs").click()
    page.locator("#pair-list a").first.click()
    page.go_back()
    expect(shown(page)).to_have_text("Pairs")
    page.go_back()
    expect(shown(page)).to_have_text(re.compile("^3 of 6"))
    page.go_forward()
    expect(shown(page)).to_have_text("Pairs")
    page.goto(report + "#pair-99999")
    expect(shown(page)).to_have_text(re.compile("^3 of 6"))


def test_hostile_pages_are_shown_as_text(open_watched: Any, hostile: str) -> None:
    page = open_watched(hostile + "#clusters")
    page.locator("#cluster-list summary").first.click()
    expect(page.locator("#cluster-list tbody tr")).to_have_count(len(HOSTILE) + 1)
    listed = page.inner_text("#cluster-list")
    assert "</script><script>window.ran = 1</script>" in listed
    assert "⟨U+202E⟩" in listed
    assert "\u202e" not in listed
    for number in range(len(HOSTILE)):
        page.goto(f"{hostile}#pair-{number}")
        assert page.locator("#view-pair .texts .row").count() > 0
    told = page.inner_text("main")
    assert "\x00" not in told
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main svg[onload], main [onerror]").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0


def test_hostile_pages_do_not_widen_the_page(open_watched: Any, hostile: str) -> None:
    page = open_watched(hostile, viewport={"width": 390, "height": 800})
    for view in ("clusters", "pairs", "pair-5", "actions"):
        page.goto(f"{hostile}#{view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_phone_shows_one_column(open_watched: Any, report: str) -> None:
    page = open_watched(report, viewport={"width": 360, "height": 740})
    for view in ("overview", "clusters", "actions", "pairs", "pair-1"):
        page.goto(f"{report}#{view}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".row.shared .side-a:visible").count() > 0
    assert page.locator(".row.shared .side-b:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(open_watched: Any, report: str, scheme: str) -> None:
    page = open_watched(report, color_scheme=scheme)
    grounds = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert grounds == {"light": "rgb(250, 249, 246)", "dark": "rgb(21, 24, 27)"}[scheme]
    for view in ("overview", "cluster-0", "pairs", "pair-1", "actions"):
        page.goto(f"{report}#{view}")
        assert page.evaluate(CONTRAST) == []


LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_of_every_view(open_watched: Any, report: str, look: str, tmp_path: Path) -> None:
    """Taken for people to look at: NEARDUP_PICTURES names the folder to leave them in."""
    folder = Path(os.environ.get("NEARDUP_PICTURES", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    page = open_watched(report, **LOOKS[look])
    for view in ("overview", "clusters", "pairs", "pair-0", "actions"):
        page.goto(f"{report}#{view}")
        picture = folder / f"{view}-{look}.png"
        page.screenshot(path=picture)
        ground, *others = colours_of(picture)
        assert len(others) > 20, f"{picture.name} shows nothing"
        assert (sum(ground) < 3 * 60) is (look == "dark")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) == 0, f"{picture.name} is wider than the screen"


def colours_of(picture: Path) -> list[tuple[int, ...]]:
    """The colours of a picture, the most common first."""
    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    return [tuple(colour) for colour in colours[np.argsort(-counts)].tolist()]


def test_everything_that_can_be_used_has_a_name(open_watched: Any, report: str) -> None:
    page = open_watched(report)
    for view in ("overview", "cluster-0", "pairs", "pair-1", "actions"):
        page.goto(f"{report}#{view}")
        assert page.locator("main:visible, header:visible, footer:visible").count() == 3
        for control in page.locator("a:visible, button:visible, summary:visible").all():
            assert control.inner_text().strip()
        for field in page.locator("input:visible, select:visible").all():
            assert field.evaluate("(field) => field.labels.length") == 1
        for picture in page.locator("svg:visible").all():
            described = picture.get_attribute("aria-label")
            hidden = picture.evaluate("(svg) => svg.closest('[aria-hidden=true]') !== null")
            assert described or hidden


def test_a_hundred_thousand_pages_open_and_filter(open_watched: Any, tmp_path: Path) -> None:
    pages = [
        Given(
            f"https://site{number % 997}.example/news/{number // 3:05d}/copy-{number:06d}.html",
            f"Text {number // 3}.",
            f"What happened on day {number // 3} | site {number % 997}",
        )
        for number in range(MANY)
    ]
    order = sorted(range(MANY), key=lambda number: pages[number].id)
    place = {number: at for at, number in enumerate(order)}
    clusters = [[place[first + more] for more in range(3)] for first in range(0, MANY - 3, 3)]
    pairs = [Judgement(min(some), max(some)) for some in clusters[:2_000]]
    run = handmade_run(tmp_path, [pages[number] for number in order], pairs, clusters)
    assert len(run.report().encode()) < 15_000_000
    page = open_watched((tmp_path / "report.html").as_uri() + "#clusters")
    assert page.inner_text("#cluster-status") == "33,333 clusters, 1 to 50 shown"
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#cluster-status")).to_have_text("33,333 clusters, 51 to 100 shown")
    page.get_by_label("Search titles, ids and URLs").fill("copy-000042")
    expect(page.locator("#cluster-list > li")).to_have_count(1)
    page.locator("#cluster-list summary").click()
    expect(page.locator("#cluster-list tbody tr")).to_have_count(3)
    assert "copy-000042" in page.inner_text("#cluster-list tbody")
