"""The service over PostgreSQL and while the database is away."""

from __future__ import annotations

import httpx
import pytest

from neardup import html_page
from neardup.service.client import Client
from postgres import Server
from sample_pages import html, long_html
from service_process import serving

pytestmark = pytest.mark.xdist_group("postgres")


def test_the_service_over_postgresql(
    postgres: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("postgres")
    with serving(folder, store=postgres.store_url()) as service:
        with Client(service.url) as client:
            one = client.add(html_page(long_html("harbour"), id="a\0b", url="http://a.example/"))
            two = client.add(
                html_page(long_html("harbour", edited=True), id="c", url="http://b.example/")
            )
            assert (one.duplicate, two.duplicate, two.of) == (False, True, "a\ufffdb")
            assert client.page("a\0b") is not None
            assert client.compare("a\0b", "c")["own-text"].relation == "near"
            client.give_feedback("a\0b", "c", duplicate=False, note="nul \0 byte")
            assert [said.note for said in client.feedback()] == ["nul \ufffd byte"]
            client.add(html_page(html("bridge"), id="third", url="http://a.example/2"))
            assert client.stats()["pages"] == 3
        for path in ("/", "/clusters?smallest=1&search=c", "/feedback", "/pair?a=a%00b&b=c"):
            page = httpx.get(f"{service.url}{path}", headers={"Accept": "text/html"}, timeout=60)
            assert page.status_code == 200, (path, page.text)
        assert "a.example" in httpx.get(f"{service.url}/", timeout=60).text
        postgres.stop()
        try:
            told = httpx.get(f"{service.url}/readyz", timeout=60)
            assert (told.status_code, told.json()["code"]) == (503, "store")
            assert httpx.get(f"{service.url}/healthz", timeout=60).status_code == 200
        finally:
            postgres.start()
        with Client(service.url) as client:
            assert client.page("c") is not None
        assert service.stop() == 0
