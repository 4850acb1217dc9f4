"""Every route of the API, over HTTP, against a real process."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from neardup import compare as compare_pages
from neardup import html_page
from neardup.methods.registry import BUILT_IN
from sample_pages import html, long_html

NDJSON = {"Content-Type": "application/x-ndjson"}
HTML = {"Content-Type": "text/html"}
SITE = "http://api.example"


def path(id_: str) -> str:
    return f"/v1/pages/{quote(id_, safe='')}"


def add(http: httpx.Client, id_: str, content: str, **more: Any) -> dict[str, Any]:
    response = http.post("/v1/pages", json={"id": id_, "html": content, **more})
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told


def is_problem(response: httpx.Response, status: int, code: str) -> bool:
    """An error as RFC 9457 has it."""
    told = response.json()
    return (
        response.status_code == told["status"] == status
        and response.headers["content-type"] == "application/problem+json"
        and told["code"] == code
        and {"type", "title", "detail"} <= told.keys()
    )


@pytest.fixture
def ferries(http: httpx.Client) -> Iterator[list[str]]:
    """Two copies of one page, stored, and gone again."""
    ids = [f"{SITE}/ferry/{name}?x=1&y=%2F#é" for name in "ab"]
    for number, id_ in enumerate(ids):
        add(http, id_, html("ferry", host=f"h{number}.example"), url=f"http://h{number}.example/f")
    yield ids
    for id_ in ids:
        http.delete(path(id_))


def test_a_page_is_new_then_a_copy_then_known(http: httpx.Client) -> None:
    first = add(http, "bridge-1", html("bridge"), url="http://one.example/b")
    assert (first["duplicate"], first["of"], first["known"]) == (False, None, False)
    second = add(http, "bridge-2", html("bridge", host="two"), url="http://two.example/b")
    assert (second["duplicate"], second["of"], second["relation"]) == (True, "bridge-1", "same")
    assert second["cluster"] == first["cluster"]
    assert second["evidence"]["why"]
    again = add(http, "bridge-2", html("bridge", host="two"), url="http://two.example/b")
    assert again["known"]
    assert again["cluster"] == first["cluster"]


def test_raw_html_takes_its_url_and_charset_from_the_request(http: httpx.Client) -> None:
    url = f"{SITE}/茶?a=1"
    body = html("茶").encode("gb18030")
    sent = http.post(
        "/v1/pages",
        params={"url": url, "time": "2024-05-01"},
        content=body,
        headers={"Content-Type": "text/html; charset=gb18030"},
    )
    assert sent.json()["id"] == url
    stored = http.get(path(url), params={"text": True}).json()
    assert stored["page"]["host"] == "api.example"
    assert stored["page"]["time"].startswith("2024-05-01")
    assert "春茶上市以来" in stored["text"]


def test_plain_text_is_a_page(http: httpx.Client) -> None:
    sent = http.post(
        "/v1/pages",
        params={"id": "plain"},
        content="Only <b>text</b>, no markup at all.",
        headers={"Content-Type": "text/plain"},
    )
    assert sent.status_code == 200
    assert "<b>text</b>" in http.get(path("plain"), params={"text": True}).json()["text"]


def test_a_line_in_a_line_out(http: httpx.Client) -> None:
    lines = [
        json.dumps({"id": "line-1", "html": long_html("harbour")}),
        "no JSON at all",
        json.dumps({"id": "line-2", "html": long_html("harbour", edited=True)}),
        json.dumps({"html": "<p>nobody knows my name</p>"}),
        json.dumps({"id": "line-3"}),
        "",
        json.dumps(["not", "an", "object"]),
        '{"id": "lone \\ud800 half", "text": "half \\udfff a character"}',
    ]
    sent = http.post("/v1/pages", content="\n".join(lines).encode(), headers=NDJSON)
    assert sent.headers["content-type"] == "application/x-ndjson"
    told = [json.loads(line) for line in sent.text.splitlines()]
    assert [each.get("skipped") for each in told] == [
        *(None, "bad-json", None, "no-id", "no-content", "bad-json", None)
    ]
    assert [each["line"] for each in told if "skipped" in each] == [2, 4, 5, 7]
    assert told[2]["of"] == "line-1"
    assert told[-1]["id"] == "lone \ufffd half"
    assert http.get(path(told[-1]["id"])).status_code == 200


def test_a_dry_run_stores_nothing(http: httpx.Client, ferries: list[str]) -> None:
    for content, kind in ((html("ferry", host="x"), HTML), (b"", NDJSON)):
        body = content or json.dumps({"id": "dry", "html": html("ferry", host="x")})
        asked: dict[str, Any] = {"dry_run": True, **({"id": "dry"} if content else {})}
        sent = http.post("/v1/pages", params=asked, content=body, headers=kind)
        assert json.loads(sent.text)["duplicate"]
        assert http.get(path("dry")).status_code == 404


def test_a_page_is_shown_and_forgotten(http: httpx.Client, ferries: list[str]) -> None:
    found = http.get(path(ferries[0])).json()
    assert found["page"]["id"] == ferries[0]
    assert found["text"] is None
    assert http.delete(path(ferries[0])).status_code == 204
    assert is_problem(http.delete(path(ferries[0])), 404, "not-found")
    assert is_problem(http.get(path(ferries[0])), 404, "not-found")
    assert not http.get(path(ferries[1])).json()["page"]["undecided"]


@pytest.mark.parametrize("id_", ["a//b", "https://x.example//", "ü/%2F?#", "a b\tc", "x" * 3_000])
def test_any_id_can_be_asked_for(http: httpx.Client, id_: str) -> None:
    add(http, id_, html("bridge"))
    assert http.get(path(id_)).json()["page"]["id"] == id_
    assert http.delete(path(id_)).status_code == 204


def test_a_nul_in_an_id_is_the_same_everywhere(http: httpx.Client) -> None:
    told = add(http, "a\0b", html("bridge"))
    assert told["id"] == "a\ufffdb"
    assert http.get(path("a\0b")).json()["page"]["id"] == "a\ufffdb"


def test_clusters_are_listed_in_parts(http: httpx.Client) -> None:
    for number in range(5):
        for copy in range(2):
            site = f"list{number}-{copy}.example"
            text = "".join(
                f"<p>Notice {number} of part {part}: nothing else says {number * 97 + part}.</p>"
                for part in range(12)
            )
            add(http, f"listed-{number}-{copy}", text, url=f"http://{site}/")
    wanted: dict[str, Any] = {"search": "LISTED-", "limit": 2}
    names: list[str] = []
    skip: int | None = 0
    while skip is not None:
        part = http.get("/v1/clusters", params={**wanted, "skip": skip}).json()
        assert len(part["clusters"]) <= 2
        names += [cluster["kept"] for cluster in part["clusters"]]
        skip = part["next"]
    assert sorted(names) == [f"listed-{number}-0" for number in range(5)]
    by_host = http.get("/v1/clusters", params={"host": "list3-1.example"}).json()["clusters"]
    assert [cluster["kept"] for cluster in by_host] == ["listed-3-0"]
    assert http.get("/v1/clusters", params={"smallest": 1_000}).json()["clusters"] == []
    assert http.get("/v1/clusters", params={"since": "2099-01-01"}).json()["clusters"] == []
    newest = http.get("/v1/clusters", params={**wanted, "sort": "created"}).json()["clusters"]
    assert newest[0]["kept"] == "listed-4-0"


def test_a_cluster_tells_its_pages_and_history(http: httpx.Client, ferries: list[str]) -> None:
    name = http.get(path(ferries[0])).json()["page"]["cluster"]
    found = http.get(f"/v1/clusters/{name}").json()
    assert found["kept"] == ferries[0]
    assert [page["id"] for page in found["members"]] == ferries
    assert [event["kind"] for event in found["history"]][:2] == ["created", "joined"]
    part = http.get(f"/v1/clusters/{name}", params={"limit": 1}).json()
    assert (len(part["members"]), part["size"], part["next"]) == (1, 2, 1)
    assert is_problem(http.get("/v1/clusters/c999999"), 404, "not-found")
    assert is_problem(http.get("/v1/clusters/nonsense"), 404, "not-found")


def test_compare_says_what_the_library_says(http: httpx.Client) -> None:
    a, b = long_html("railway"), long_html("railway", edited=True)
    sent = http.post("/v1/compare", json={"a": {"html": a}, "b": {"html": b}, "method": "all"})
    told = {each["method"]: each for each in sent.json()["verdicts"]}
    assert list(told) == list(BUILT_IN)
    for method in ("own-text", "minhash", "exact"):
        expected = compare_pages(html_page(a, id="a"), html_page(b, id="b"), method=method)
        assert told[method]["relation"] == expected.relation
        assert told[method]["similarity"] == pytest.approx(expected.similarity)
    one = {"a": {"html": a}, "b": {"html": b}, "method": "minhash", "options": {"threshold": 0.1}}
    assert http.post("/v1/compare", json=one).status_code == 200
    assert is_problem(http.post("/v1/compare", json={**one, "options": {"no": 1}}), 422, "invalid")
    assert is_problem(http.post("/v1/compare", json={**one, "method": "no"}), 422, "invalid")


def test_compare_takes_stored_pages(http: httpx.Client, ferries: list[str]) -> None:
    asked: dict[str, Any] = {"a": {"id": ferries[0]}, "b": {"id": ferries[1]}}
    assert http.post("/v1/compare", json=asked).json()["verdicts"][0]["relation"] == "same"
    asked["b"] = {"text": "Something else entirely, in a few words of its own."}
    assert http.post("/v1/compare", json=asked).json()["feedback"] is None
    asked["b"] = {"id": "not stored"}
    assert is_problem(http.post("/v1/compare", json=asked), 404, "not-found")


def test_feedback_goes_before_the_verdict(http: httpx.Client, ferries: list[str]) -> None:
    a, b = ferries
    said = http.post("/v1/feedback", json={"a": b, "b": a, "duplicate": False, "note": "no"})
    assert (said.json()["a"], said.json()["note"]) == (a, "no")
    clusters = {http.get(path(id_)).json()["page"]["cluster"] for id_ in ferries}
    assert len(clusters) == 2
    compared = http.post("/v1/compare", json={"a": {"id": a}, "b": {"id": b}}).json()
    assert compared["feedback"]["duplicate"] is False
    assert any(each["a"] == a for each in http.get("/v1/feedback").json())
    pairs = {"a": a, "b": b}
    assert http.delete("/v1/feedback", params=pairs).status_code == 204
    assert is_problem(http.delete("/v1/feedback", params=pairs), 404, "not-found")
    clusters = {http.get(path(id_)).json()["page"]["cluster"] for id_ in ferries}
    assert len(clusters) == 1


def test_feedback_is_about_two_stored_pages(http: httpx.Client, ferries: list[str]) -> None:
    one = {"a": ferries[0], "b": ferries[0], "duplicate": True}
    assert is_problem(http.post("/v1/feedback", json=one), 422, "one-page")
    gone = {"a": ferries[0], "b": "nowhere", "duplicate": True}
    assert is_problem(http.post("/v1/feedback", json=gone), 404, "not-found")


def test_feedback_makes_a_labelled_set(http: httpx.Client, tmp_path: Path) -> None:
    topics = ("harbour", "railway", "orchard")
    for topic in topics:
        for edited in (False, True):
            add(http, f"set, {topic} {edited}", long_html(topic, edited=edited))
    for topic, other in zip(topics, (*topics[1:], topics[0]), strict=True):
        for b, duplicate in ((f"set, {topic} True", True), (f"set, {other} False", False)):
            said = {"a": f"set, {topic} False", "b": b, "duplicate": duplicate}
            assert http.post("/v1/feedback", json=said).status_code == 200
    pairs = http.get("/v1/feedback/pairs.csv")
    assert "attachment" in pairs.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(pairs.text)))
    assert {row["label"] for row in rows} == {"duplicate", "different"}
    (tmp_path / "pairs.csv").write_text(pairs.text, "utf-8")
    (tmp_path / "pages.jsonl").write_text(http.get("/v1/feedback/pages.jsonl").text, "utf-8")
    command = [sys.executable, "-m", "neardup", "tune", str(tmp_path), "--method", "minhash"]
    command += ["--out", str(tmp_path / "t.toml")]
    tuned = subprocess.run(command, capture_output=True, check=False)
    assert tuned.returncode == 0, tuned.stderr
    assert (tmp_path / "t.toml").read_text("utf-8")


def test_stats_count(http: httpx.Client) -> None:
    before = http.get("/v1/stats").json()
    add(http, "one more for the count", html("bridge", extra="<p>Counted here.</p>"))
    after = http.get("/v1/stats", params={"sizes": True}).json()
    assert after["pages"] == before["pages"] + 1
    assert after["method"] == "own-text"
    assert before["sizes"] is None
    assert after["sizes"]["text"] > 0


def test_machines_can_watch(http: httpx.Client) -> None:
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.head("/healthz").status_code == 200
    assert http.get("/readyz").json() == {"status": "ready"}
    add(http, "watched", html("bridge", extra="<p>Watched.</p>"))
    told = http.get("/metrics").text
    assert 'neardup_requests_total{method="POST",route="/v1/pages",status="200"}' in told
    assert "neardup_pages_total" in told
    assert "neardup_write_pages_count" in told


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({"method": "GET", "url": "/nowhere"}, 404, "not-found"),
        ({"method": "PUT", "url": "/v1/pages"}, 405, "method-not-allowed"),
        ({"method": "GET", "url": "/v1/clusters?limit=many"}, 422, "invalid"),
        ({"method": "GET", "url": "/v1/clusters?since=yesterday"}, 422, "invalid"),
        ({"method": "GET", "url": "/v1/clusters?sort=best"}, 422, "invalid"),
        ({"method": "POST", "url": "/v1/pages", "content": b"{"}, 400, "bad-json"),
        ({"method": "POST", "url": "/v1/pages", "content": b"[]"}, 422, "invalid"),
        ({"method": "POST", "url": "/v1/pages", "json": {"id": "x"}}, 422, "no-content"),
        ({"method": "POST", "url": "/v1/pages", "json": {"html": "x"}}, 422, "no-id"),
        ({"method": "POST", "url": "/v1/pages", "json": {"id": "x", "html": ""}}, 422, "empty"),
        (
            {"method": "POST", "url": "/v1/pages", "content": b"x", "headers": HTML},
            *(422, "no-id"),
        ),
        (
            {"method": "POST", "url": "/v1/pages?id=x", "content": b"", "headers": HTML},
            *(422, "empty"),
        ),
        (
            {"method": "POST", "url": "/v1/pages", "headers": {"Content-Type": "image/png"}},
            *(415, "unknown-type"),
        ),
        ({"method": "POST", "url": "/v1/compare", "content": b"{"}, 400, "bad-json"),
        ({"method": "POST", "url": "/v1/feedback", "json": {"a": "x"}}, 422, "invalid"),
    ],
)
def test_errors_are_problems(
    http: httpx.Client, sent: dict[str, Any], status: int, code: str
) -> None:
    if "content" in sent and "headers" not in sent:
        sent = {**sent, "headers": {"Content-Type": "application/json"}}
    response = http.request(**sent)
    assert is_problem(response, status, code), response.text
    assert response.headers["x-request-id"] == response.json()["request"]
