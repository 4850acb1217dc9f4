"""Wrong tokens, foreign pages, oversize bodies and bombs, against a real process."""

from __future__ import annotations

import gzip
import json
import re
import socket
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from neardup.cli.main import run
from sample_pages import html
from service_process import READ, TOKENS, WRITE, Service

READER, WRITER = ({"Authorization": f"Bearer {token}"} for token in (READ, WRITE))
NDJSON = {"Content-Type": "application/x-ndjson"}
SECRET = "xyzzy plugh, the words that no log may hold"


@pytest.fixture
def calm(guarded: Service) -> Iterator[httpx.Client]:
    """A client of the guarded service that brings no token."""
    with httpx.Client(base_url=guarded.url, timeout=30, trust_env=False) as client:
        yield client


def code_of(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    return response.status_code, response.json()["code"]


READS = ["/v1/pages/x", "/v1/clusters", "/v1/clusters/c1", "/v1/feedback", "/v1/stats", "/metrics"]


@pytest.mark.parametrize("path", [*READS, "/v1/feedback/pairs.csv", "/v1/feedback/pages.jsonl"])
@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", f"Basic {READ}", f"Bearer {READ}x", "Bearer \xe9"]
)
def test_reading_needs_a_token(calm: httpx.Client, path: str, given: str) -> None:
    headers = {"Authorization": given.encode("latin-1").decode("latin-1")} if given else {}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    response = calm.get(path, headers=raw)
    assert code_of(response) == (401, "no-token")
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_reader_reads_and_asks_but_does_not_write(calm: httpx.Client) -> None:
    page = {"id": "guarded", "html": html("ferry")}
    assert calm.get("/v1/stats", headers=READER).status_code == 200
    assert code_of(calm.post("/v1/pages", json=page, headers=READER)) == (403, "read-only")
    asked = calm.post("/v1/pages?dry_run=true", json=page, headers=READER)
    assert asked.status_code == 200
    compared = {"a": page, "b": page}
    assert calm.post("/v1/compare", json=compared, headers=READER).status_code == 200
    said = {"a": "x", "b": "y", "duplicate": True}
    assert code_of(calm.post("/v1/feedback", json=said, headers=READER)) == (403, "read-only")
    assert code_of(calm.delete("/v1/feedback?a=x&b=y", headers=READER)) == (403, "read-only")
    assert code_of(calm.delete("/v1/pages/guarded", headers=READER)) == (403, "read-only")
    assert calm.post("/v1/pages", json=page, headers=WRITER).status_code == 200
    assert calm.get("/v1/pages/guarded", headers=READER).status_code == 200


def test_health_needs_no_token(calm: httpx.Client) -> None:
    assert calm.get("/healthz").status_code == 200
    assert calm.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "use --tokens"),
        (["--tokens", "missing.txt"], "cannot read the tokens"),
        (["--tokens", "short.txt"], "at least 16"),
        (["--tokens", "odd.txt"], "odd.txt, line 2: write 'read TOKEN'"),
        (["--method", "no-such"], "unknown method"),
        (["--max-body", "much"], "is not a size"),
    ],
)
def test_a_service_that_would_not_be_safe_does_not_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    told: str,
) -> None:
    (tmp_path / "short.txt").write_text("read abc\n", "utf-8")
    (tmp_path / "odd.txt").write_text(f"# tokens\n{READ}\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["neardup", "serve", "--store", "sqlite:///s.db", *options])
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_a_body_that_says_it_is_too_large_is_not_read(guarded: Service) -> None:
    head = (
        "POST /v1/pages HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/html\r\n"
        f"Authorization: Bearer {WRITE}\r\nContent-Length: 99999999999\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    assert _talk(guarded, [head.encode()]).startswith(b"HTTP/1.1 413")


def test_a_chunked_body_is_counted_while_it_comes(guarded: Service) -> None:
    head = (
        "POST /v1/pages?id=x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/html\r\n"
        f"Authorization: Bearer {WRITE}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    answer = _talk(guarded, [head.encode(), *[chunk] * 40, b"0\r\n\r\n"])
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"too-large" in answer


def _talk(service: Service, sent: list[bytes]) -> bytes:
    """What a server answers to bytes."""
    address = urlsplit(service.url)
    assert address.hostname is not None
    with socket.create_connection((address.hostname, address.port or 80), timeout=30) as line:
        for piece in sent:
            line.sendall(piece)
        answer = b""
        while b"}" not in answer:  # the end of a problem
            answer += line.recv(65_536)
        return answer


def test_a_page_and_a_batch_have_limits(calm: httpx.Client) -> None:
    large = {"id": "large", "text": "x" * 60_000}
    assert code_of(calm.post("/v1/pages", json=large, headers=WRITER)) == (413, "too-large")
    raw = {**WRITER, "Content-Type": "text/html"}
    sent = calm.post("/v1/pages?id=large", content=b"x" * 60_000, headers=raw)
    assert code_of(sent) == (413, "too-large")
    lines = "\n".join(json.dumps({"id": f"b{n}", "text": "a word"}) for n in range(6))
    sent = calm.post("/v1/pages", content=lines, headers={**WRITER, **NDJSON})
    assert code_of(sent) == (413, "too-many")
    lines = json.dumps({"id": "b0", "text": "a word"}) + "\n" + json.dumps(large)
    sent = calm.post("/v1/pages", content=lines, headers={**WRITER, **NDJSON})
    told = [json.loads(line) for line in sent.text.splitlines()]
    assert told[0]["id"] == "b0"
    assert told[1]["skipped"] == "too-large"


def test_a_packed_body_is_unpacked(calm: httpx.Client) -> None:
    lines = [json.dumps({"id": f"packed-{n}", "text": "some words"}).encode() for n in range(3)]
    packed = gzip.compress(lines[0] + b"\n") + gzip.compress(lines[1] + b"\n" + lines[2])
    headers = {**WRITER, **NDJSON, "Content-Encoding": "gzip"}
    sent = calm.post("/v1/pages", content=packed, headers=headers)
    assert [json.loads(line)["id"] for line in sent.text.splitlines()] == [
        *("packed-0", "packed-1", "packed-2")
    ]


@pytest.mark.parametrize(
    ("body", "encoding", "expected"),
    [
        (gzip.compress(b"x" * 100_000_000), "gzip", (413, "too-large")),
        (gzip.compress(gzip.compress(b"x" * 1_000)), "gzip, gzip", (415, "unknown-encoding")),
        (zlib.compress(b"x"), "deflate", (415, "unknown-encoding")),
        (b"no gzip", "gzip", (400, "bad-encoding")),
        (gzip.compress(b'{"id": "cut", "text": "a"}')[:-9], "gzip", (400, "bad-encoding")),
    ],
    ids=["bomb", "twice", "other", "none", "cut"],
)
def test_bombs_and_broken_packing(
    calm: httpx.Client, body: bytes, encoding: str, expected: tuple[int, str]
) -> None:
    headers = {**WRITER, **NDJSON, "Content-Encoding": encoding}
    assert code_of(calm.post("/v1/pages", content=body, headers=headers)) == expected
    assert calm.get("/readyz").status_code == 200


def test_a_body_that_does_not_come_is_not_waited_for(guarded: Service) -> None:
    head = (
        "POST /v1/pages?id=x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/html\r\n"
        f"Authorization: Bearer {WRITE}\r\nContent-Length: 100\r\n\r\nabc"
    )
    answer = _talk(guarded, [head.encode()])
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "", "localhost.evil.example"]
)
def test_a_foreign_name_is_not_answered(calm: httpx.Client, host: str) -> None:
    assert code_of(calm.get("/v1/stats", headers={**READER, "Host": host}))[0] == 421


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80", "PAGES.example"])
def test_known_names_are_answered(calm: httpx.Client, host: str) -> None:
    assert calm.get("/v1/stats", headers={**READER, "Host": host}).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_change_nothing(http: httpx.Client, sent: dict[str, str]) -> None:
    headers = {"Content-Type": "text/plain", **sent}
    response = http.post("/v1/pages?id=forged", content="forged", headers=headers)
    assert code_of(response) == (403, "cross-site")
    assert http.get("/v1/pages/forged").status_code == 404


def test_without_tokens_nothing_goes_through_a_proxy(http: httpx.Client) -> None:
    response = http.get("/v1/stats", headers={"X-Forwarded-For": "203.0.113.7"})
    assert code_of(response) == (403, "no-tokens")


@pytest.mark.parametrize("path", ["/", "/v1/stats", "/nowhere", "/openapi.json", "/docs"])
def test_every_answer_has_safe_headers(http: httpx.Client, path: str) -> None:
    headers = http.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_logs_hold_no_content_and_no_token(guarded: Service, calm: httpx.Client) -> None:
    page = {"id": f"http://log.example/{SECRET}", "html": f"<title>{SECRET}</title>{SECRET}"}
    calm.post("/v1/pages", json=page, headers={**WRITER, "X-Request-ID": "told-by-the-caller"})
    calm.post("/v1/pages", content=f"{{{SECRET}", headers=WRITER)
    calm.get(f"/v1/pages/{page['id']}?{SECRET}", headers=READER)
    calm.get(f"/clusters?search={SECRET}")
    log = guarded.log.read_text("utf-8")
    assert "xyzzy" not in log
    assert not any(token in log for token in TOKENS.values())
    told = [line for line in guarded.lines() if line["event"] == "request"]
    assert any(line["request"] == "told-by-the-caller" for line in told)
    assert {"time", "level", "method", "route", "status", "ms", "bytes_in"} <= told[-1].keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*", told[-1]["time"])


def test_no_address_is_ever_fetched(http: httpx.Client) -> None:
    """A page that names a listener of ours in every way it can; nobody calls."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.3)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        content = (
            f"<base href={address}><link rel=stylesheet href={address}><img src={address}>"
            f"<meta http-equiv=refresh content='0;url={address}'><iframe src={address}></iframe>"
            f"<link rel=canonical href={address}><p>Some words.</p>"
        )
        for id_ in (address, "fetch"):
            sent = http.post("/v1/pages", json={"id": id_, "url": address, "html": content})
            assert sent.status_code == 200
        http.post(
            "/v1/compare", json={"a": {"html": content, "url": address}, "b": {"id": "fetch"}}
        )
        http.get(f"/pair?a={address}&b=fetch", headers={"Accept": "text/html"})
        with pytest.raises(TimeoutError):
            listener.accept()
