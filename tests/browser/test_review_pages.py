"""The review pages in a browser: by mouse and keyboard, on a phone, in the dark, in Chinese."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from contrast import CONTRAST
from neardup.pages.limits import FIELD_LENGTH
from sample_pages import html, long_html
from service_process import PATIENT, READ, TOKENS, WRITE, Service, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.xdist_group("service")

FERRIES = [f"http://host{number}.example/ferry" for number in range(4)]
LONG = "x" * 5_000_000
HOSTILE = {
    "script": "<script>window.ran = 1</script></script><script>window.ran = 1//",
    "handlers": "<img src=x onerror='window.ran=1'><body onload=alert(1)><p onclick=alert(1)>",
    "svg": "<svg onload='window.ran=1'><script>alert(1)</script><animate onbegin=alert(1)></svg>",
    "addresses": "<a href='javascript:alert(1)'>x</a><iframe src='data:text/html,<script>alert(1)"
    "</script>'></iframe><object data='data:text/html;base64,PHNjcmlwdD4='></object>",
    "templates": "{{7*7}} {% raw %} ${window.ran=1} <%= 1 %> &lt;script&gt;alert(1)&lt;/script&gt;",
    "turned": "txt.\u202eexe\u2066 \u200f\u0645\u0631\u062d\u0628\u0627 \x00 \x1b[31m \x85 \u2028",
    "remote": "<link rel=stylesheet href=//evil.example/x.css><style>@import '//evil.example'"
    "</style><img src=//evil.example/pixel><meta http-equiv=refresh content='0;url=//evil'>",
    "closing": "</title></textarea></bdi></div></body></html><h1>Not ours</h1><form action=//evil>",
}


def pair(a: str, b: str, **more: str) -> str:
    return f"/pair?{urlencode({'a': a, 'b': b, **more})}"


def page_of(id_: str) -> str:
    return f"/pages/{quote(id_, safe='')}"


def add(url: str, records: list[dict[str, str]], token: str = "") -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    body = "\n".join(json.dumps(record) for record in records)
    sent = httpx.post(f"{url}/v1/pages", content=body, headers=headers, timeout=400)
    assert sent.status_code == 200, sent.text
    assert "skipped" not in sent.text


def ferries() -> list[dict[str, str]]:
    """Four copies of one page, two of them with a paragraph more; two pages of other things."""
    more = "<p>On Sundays the last boat leaves at seven, an hour later than it did before.</p>"
    found = [
        {
            "id": url,
            "url": url,
            "title": f"The ferry {number}",
            "html": html("ferry", host=f"host{number}.example", extra=more if number > 1 else ""),
        }
        for number, url in enumerate(FERRIES)
    ]
    for number, edited in enumerate((False, True)):
        url = f"http://tea{number}.example/茶山"
        found.append({"id": url, "url": url, "html": long_html("茶山", edited=edited)})
    return found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("review"), *PATIENT) as running:
        add(running.url, ferries())
        compile_every_method(running)
        yield running


def compile_every_method(running: Service) -> None:
    """So that no page has to wait for it."""
    asked = {"a": {"text": "Some words."}, "b": {"text": "Other words."}, "method": "all"}
    sent = httpx.post(f"{running.url}/v1/compare", json=asked, timeout=400)
    assert sent.status_code == 200


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Pages that try to be more than text, everywhere a page can put something."""
    records = [
        {
            "id": f"{name} {copy} {text}",
            "url": f"http://{name}.example/{text}",
            "title": text,
            "html": html("bridge", extra=f"{text}<p>{text.replace('<', '&lt;')}</p>"),
        }
        for name, text in HOSTILE.items()
        for copy in "ab"
    ]
    records.append({"id": "javascript:alert(1)", "url": "javascript:alert(1)", "text": "A link."})
    title = LONG[:FIELD_LENGTH]
    records += [{"id": f"long {copy}", "title": title, "text": f"{LONG} {copy}"} for copy in "ab"]
    with serving(tmp_path_factory.mktemp("hostile"), *PATIENT) as running:
        add(running.url, records)
        compile_every_method(running)
        for name, text in HOSTILE.items():
            said = {"a": f"{name} a {text}", "b": f"{name} b {text}", "note": text}
            sent = httpx.post(
                f"{running.url}/v1/feedback", json={**said, "duplicate": True}, timeout=60
            )
            assert sent.status_code == 200, sent.text
        yield running


@pytest.fixture
def visit(open_watched: Any, service: Service) -> Any:
    """Open a path of the service; anything it loads from elsewhere is a complaint."""

    def open_(path: str, **options: Any) -> Page:
        page: Page = open_watched(service.url + path, allowed=service.url, **options)
        return page

    return open_


def heading(page: Page) -> str:
    assert page.locator("h1").count() == 1
    return page.locator("h1").inner_text()


def test_the_overview_tells_what_is_stored(visit: Any) -> None:
    page = visit("/")
    assert heading(page) == "4 of 6 pages repeat another page."
    assert page.locator("svg.days rect").count() == 2
    assert "6 pages, 4 of them duplicates" in page.locator("svg.days").get_attribute("aria-label")
    assert page.locator(".hosts tbody tr").count() >= 3
    assert "nearly the same" in page.locator(".bars").inner_text()
    page.get_by_text("Show the numbers").click()
    assert page.get_by_role("cell", name="4", exact=True).first.is_visible()
    page.get_by_role("link", name="host1.example", exact=True).click()
    assert page.locator(".clusters li").count() == 1


def test_from_the_list_to_a_cluster_to_a_pair(visit: Any) -> None:
    page = visit("/clusters")
    assert page.locator(".clusters li").count() == 2
    page.get_by_label("Search titles and ids").fill("FERRY 0")
    page.keyboard.press("Enter")
    page.wait_for_url("**search=FERRY*")
    assert page.locator(".clusters li").count() == 1
    page.locator(".clusters a").click()
    assert heading(page) == "The ferry 0"
    rows = page.locator("tbody tr")
    assert rows.count() == 4
    assert "kept" in rows.nth(0).inner_text()
    assert "'s own text and" in rows.nth(2).inner_text()
    assert page.locator(".history li").count() >= 4
    rows.nth(1).get_by_label("as A").check()
    rows.nth(2).get_by_label("as B").check()
    page.get_by_role("button", name="Compare A and B").click()
    assert heading(page) in ("A is contained in B", "A and B are nearly the same")
    assert page.locator(".texts .row.shared").count() >= 1
    assert "On Sundays" in page.locator(".texts ins").all_inner_texts()[-1]
    page.get_by_label("Only the differences").check()
    assert page.locator(".texts .row.shared:visible").count() == 0
    page.get_by_role("link", name="Compare with all methods").click()
    assert page.locator(".methods tbody tr").count() == 13


def test_a_pair_is_marked_and_the_mark_taken_back(visit: Any) -> None:
    page = visit(pair(FERRIES[0], FERRIES[3]))
    assert "in the same cluster" in page.inner_text("main").lower()
    page.get_by_label("Note (optional)").fill("<b>seen</b> & compared")
    page.get_by_role("button", name="No, different pages").click()
    assert page.get_by_role("status").inner_text().startswith("Your feedback was saved")
    assert "not duplicates" in page.inner_text("section.word")
    assert "<b>seen</b> & compared" in page.inner_text("section.word")
    page.goto(page.url.partition("/pair")[0] + "/feedback")
    assert page.locator(".pairs li").count() == 1
    with page.expect_download() as saved:
        page.get_by_role("link", name="pairs.csv").click()
    text = Path(saved.value.path()).read_text("utf-8")
    assert text.splitlines()[1] == f"{FERRIES[0]},{FERRIES[3]},different"
    page.locator(".pairs a").click()
    page.get_by_role("button", name="Withdraw feedback").click()
    assert page.get_by_role("status").inner_text().startswith("Your feedback was withdrawn")
    assert page.get_by_role("button", name="Withdraw feedback").count() == 0


def test_a_page_is_shown_with_its_text(visit: Any) -> None:
    page = visit("/clusters")
    page.get_by_label("Find a page by its id or URL").fill(FERRIES[2])
    page.get_by_role("button", name="Find").click()
    assert heading(page) == "The ferry 2"
    assert "The harbour ferry will run" in page.inner_text(".whole")
    assert page.locator("a.address").get_attribute("href") == FERRIES[2]
    page.get_by_label("Compare with another page (id)").fill(FERRIES[0])
    page.get_by_role("button", name="Compare").click()
    assert page.locator(".texts del, .texts ins").count() >= 1


def test_a_side_that_is_missing_is_told(browser: Any, service: Service) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{service.url}/compare")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("[role=alert]")
    assert page.get_by_role("alert").inner_text() == "page A is missing"
    context.close()


def test_comparing_gives_every_verdict(visit: Any, tmp_path: Path) -> None:
    page = visit("/compare")
    upload = tmp_path / "b.html"
    upload.write_text(long_html("railway", edited=True), "utf-8")
    first, second = page.locator("fieldset").all()
    first.get_by_label("Paste HTML or text").fill(long_html("railway"))
    second.get_by_label("or upload a file").set_input_files(upload)
    page.locator("form.compare button").click()
    page.wait_for_selector(".methods")
    assert page.locator(".methods tbody tr").count() == 13
    assert "One more line." in page.locator(".texts ins").inner_text()
    assert page.evaluate("document.activeElement.id") == "result-heading"
    page.goto(page.url)
    first, second = page.locator("fieldset").all()
    first.get_by_label("or the id of a stored page").fill(FERRIES[0])
    second.get_by_label("Paste HTML or text").fill("Plain words <b>here</b>.")
    second.get_by_label("Format").select_option("plain text")
    page.locator("form.compare button").click()
    page.wait_for_selector(".methods")
    assert "<b>here</b>" in page.locator(".texts ins").first.inner_text()


def test_a_page_with_an_odd_name_keeps_it_in_another_language(visit: Any, service: Service) -> None:
    odd = "http://odd.example/?a=1&b=%2F#über/茶 //x"
    add(service.url, [{"id": odd, "text": "A few words under an odd name."}])
    page = visit(page_of(odd))
    address = page.url
    page.get_by_role("link", name="中文").click()
    assert page.locator("html").get_attribute("lang") == "zh"
    assert page.url == address
    assert odd in page.inner_text("main")
    httpx.delete(f"{service.url}/v1{page_of(odd)}", timeout=30)


def test_a_page_is_forgotten(visit: Any, service: Service) -> None:
    add(service.url, [{"id": "to be forgotten", "text": "A few words that nobody will miss."}])
    page = visit(page_of("to be forgotten"))
    page.get_by_text("Remove this page").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_url("**/clusters")
    gone = httpx.get(f"{service.url}/v1/pages/to%20be%20forgotten", timeout=30)
    assert gone.status_code == 404


def test_the_keyboard_is_enough(visit: Any) -> None:
    page = visit("/clusters")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator(".clusters a").first.focus()
    page.keyboard.press("ArrowDown")
    second = page.locator(".clusters a").nth(1)
    assert second.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/c*")
    page.keyboard.press("Escape")
    page.wait_for_url("**/clusters")


def test_a_cluster_is_reviewed_by_keyboard(visit: Any) -> None:
    page = visit("/clusters/c1")
    press = page.keyboard.press
    press("j")
    page.wait_for_url("**/pair?*")
    assert "1 of 3" in page.inner_text("nav.along")
    press("j")
    expect_text(page, "2 of 3")
    press("k")
    expect_text(page, "1 of 3")
    press("y")
    expect_text(page, "2 of 3")
    assert page.get_by_role("status").inner_text().startswith("Your feedback was saved")
    page.get_by_label("Note (optional)").press("n")  # a letter, not an answer
    assert "2 of 3" in page.inner_text("nav.along")
    page.evaluate("document.activeElement.blur()")
    press("k")
    expect_text(page, "1 of 3")
    page.get_by_role("button", name="Withdraw feedback").click()
    assert page.get_by_role("status").inner_text().startswith("Your feedback was withdrawn")


def expect_text(page: Page, words: str) -> None:
    from playwright.sync_api import expect

    expect(page.locator("nav.along")).to_contain_text(words)


def test_a_request_is_tried_on_the_page_of_the_api(visit: Any) -> None:
    page = visit("/docs")
    route = page.locator("section.route", has=page.locator("#list_clusters"))
    route.get_by_text("Try it").click()
    route.get_by_label("search").fill("ferry")
    route.get_by_role("button", name="Send").click()
    shown = route.locator("form pre")
    shown.filter(has_text=re.compile(r"\d")).wait_for()
    answer = shown.inner_text()
    assert answer.startswith("200")
    assert '"clusters":[{"name":"c1"' in answer


def test_reasons_are_in_chinese_and_no_word_of_the_navigation_breaks(visit: Any) -> None:
    phone = {"viewport": {"width": 360, "height": 700}, "locale": "zh-CN"}
    page = visit(pair(FERRIES[0], FERRIES[2], methods="all"), **phone)
    for each in [
        page.inner_text(".why"),
        *page.locator(".methods td:last-child").all_inner_texts(),
    ]:
        assert not re.search("[a-z]{4,}", each), each
    assert "要求的相似度" in page.inner_text("dl.evidence")
    page.get_by_role("link", name="English").click()
    heights = "[...document.querySelectorAll('.top nav a')].map((link) => link.offsetHeight)"
    assert len({*page.evaluate(heights)}) == 1


def test_it_speaks_chinese_when_asked(visit: Any) -> None:
    page = visit("/", locale="zh-CN")
    assert page.locator("html").get_attribute("lang") == "zh"
    assert heading(page) == "6 个页面中有 4 个重复。"
    page.get_by_role("link", name="English").click()
    assert heading(page) == "4 of 6 pages repeat another page."
    page.goto(page.url + "clusters")
    assert heading(page) == "Clusters"
    page.get_by_role("link", name="中文").click()
    assert heading(page) == "簇"
    assert page.url.endswith("/clusters")


EVERY_PAGE = [
    "/",
    "/clusters",
    "/clusters/c1",
    page_of(FERRIES[0]),
    pair(FERRIES[0], FERRIES[2], methods="all"),
    "/compare",
    "/feedback",
    "/docs",
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit: Any, scheme: str) -> None:
    page = visit("/", color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(250, 249, 246)", "dark": "rgb(21, 24, 27)"}[scheme]
    base = page.url.rstrip("/")
    for path in EVERY_PAGE:
        page.goto(base + path)
        assert page.evaluate(CONTRAST) == [], path


def test_everything_fits_a_phone_and_has_a_name(visit: Any) -> None:
    phone = {"viewport": {"width": 360, "height": 700}, "is_mobile": True, "has_touch": True}
    page = visit("/", **phone)
    base = page.url.rstrip("/")
    for path in EVERY_PAGE:
        page.goto(base + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert page.locator("main:visible, header:visible, footer:visible").count() == 3
        for control in page.locator("a:visible, button:visible, summary:visible").all():
            assert control.inner_text().strip(), path
        fields = page.locator("input:visible, select:visible, textarea:visible").all()
        for field in fields:
            assert field.evaluate("(field) => field.labels.length") == 1, path
        for picture in page.locator("svg:visible").all():
            hidden = picture.evaluate("(svg) => svg.closest('[aria-hidden=true]') !== null")
            assert picture.get_attribute("aria-label") or hidden, path


def test_everything_can_be_read_without_scripts(browser: Any, service: Service) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path in EVERY_PAGE:
        assert page.goto(service.url + path).status == 200
        assert page.locator("h1").count() == 1
    context.close()


def test_errors_are_pages_for_people(browser: Any, service: Service) -> None:
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    for path, status in (("/clusters/c999", 404), ("/nowhere", 404), ("/clusters?skip=x", 422)):
        assert page.goto(service.url + path).status == status
        assert page.locator("h1").inner_text() in ("找不到", "请求无法处理")
    context.close()


@pytest.mark.parametrize("width", [1200, 360])
def test_hostile_pages_are_shown_and_nothing_runs(
    open_watched: Any, hostile: Service, width: int
) -> None:
    size = {"width": width, "height": 800}
    page = open_watched(hostile.url, allowed=hostile.url, viewport=size, is_mobile=width < 500)
    paths = ["/", "/clusters", "/clusters?smallest=1&search=%3Cscript%3E", "/feedback"]
    listed = httpx.get(f"{hostile.url}/v1/clusters?smallest=1", timeout=30).json()["clusters"]
    paths += [f"/clusters/{cluster['name']}" for cluster in listed]
    for name, text in HOSTILE.items():
        a, b = (f"{name} {copy} {text}".replace("\0", "\ufffd") for copy in "ab")
        paths += [page_of(a), pair(a, b)]
    paths += [page_of("long a"), pair("long a", "long b"), page_of("javascript:alert(1)")]
    for path in paths:
        response = page.goto(hostile.url + path)
        assert response.status == 200, path
        assert page.evaluate("window.ran") is None, path
        assert page.locator("h1").count() == 1, path
        assert page.locator("iframe, object, img, main script, main style").count() == 0, path
        assert page.locator("a[href^='javascript'], a[href^='data'], [onclick]").count() == 0, path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert len(response.body()) < 500_000, path
        assert not any(mark in page.inner_text("body") for mark in "\u202e\u2066\x1b"), path


def test_a_hostile_paste_comes_back_as_text(open_watched: Any, hostile: Service) -> None:
    page = open_watched(f"{hostile.url}/compare", allowed=hostile.url)
    first, second = page.locator("fieldset").all()
    pasted = "</textarea><script>window.ran=1</script>" + "".join(HOSTILE.values())
    first.get_by_label("Paste HTML or text").fill(pasted)
    second.get_by_label("Paste HTML or text").fill(html("bridge"))
    first.get_by_label("or the id of a stored page").fill('"><script>window.ran=1</script>')
    page.locator("form.compare button").click()
    page.wait_for_selector(".methods")
    assert page.evaluate("window.ran") is None
    assert "<script>window.ran=1" in page.locator("fieldset textarea").first.input_value()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("closed"), environment=TOKENS) as running:
        add(running.url, ferries(), WRITE)
        yield running


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


def test_a_token_opens_the_pages(open_watched: Any, closed: Service) -> None:
    page = open_watched(closed.url + "/clusters?sort=changed", allowed=closed.url)
    assert heading(page) == "Log in"
    log_in(page, WRITE)
    assert page.url.endswith("/clusters?sort=changed")
    assert page.evaluate("document.cookie") == ""
    cookies = {each["name"]: each for each in page.context.cookies()}
    assert cookies["neardup_session"]["httpOnly"]
    assert cookies["neardup_session"]["sameSite"] == "Strict"
    assert WRITE not in json.dumps(page.context.cookies())
    page.goto(closed.url + pair(FERRIES[0], FERRIES[1]))
    page.get_by_role("button", name="Yes, duplicates").click()
    assert page.get_by_role("status").is_visible()
    page.get_by_role("button", name="Log out").click()
    page.goto(closed.url + "/")
    assert heading(page) == "Log in"


def test_a_reader_sees_and_cannot_mark(open_watched: Any, closed: Service) -> None:
    page = open_watched(closed.url + "/", allowed=closed.url)
    log_in(page, READ)
    page.goto(closed.url + pair(FERRIES[0], FERRIES[2]))
    assert "Your token is read-only." in page.inner_text("section.word")
    assert page.get_by_role("button", name="Yes, duplicates").count() == 0
    page.goto(closed.url + page_of(FERRIES[0]))
    assert page.get_by_text("Remove this page").count() == 0


def test_forms_from_elsewhere_do_nothing(closed: Service) -> None:
    said = {"a": FERRIES[0], "b": FERRIES[2], "duplicate": "no"}
    with httpx.Client(base_url=closed.url, timeout=30) as client:
        page = client.get("/login").text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]
        wrong = client.post("/login", data={"token": "wrong", "form_token": token})
        assert wrong.status_code == 403
        client.post("/login", data={"token": WRITE, "form_token": token})
        assert client.get("/").status_code == 200
        for form_token in ("", "0" * 64, token, "\u0660"):
            sent = client.post("/feedback", data={**said, "form_token": form_token})
            assert (sent.status_code, sent.json()["code"]) == (403, "stale-form")
        page = client.get("/feedback").text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]
        headers = {"Origin": "http://evil.example"}
        sent = client.post("/feedback", data={**said, "form_token": token}, headers=headers)
        assert sent.json()["code"] == "cross-site"
        sent = client.post("/feedback", data={**said, "form_token": token})
        assert sent.status_code == 303
    assert httpx.post(f"{closed.url}/feedback", data=said, timeout=30).status_code == 303


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "x"])
def test_nobody_is_sent_elsewhere(closed: Service, to: str) -> None:
    sent = httpx.get(f"{closed.url}/language/zh", params={"next": to}, timeout=30)
    assert sent.headers["location"] == "/"
