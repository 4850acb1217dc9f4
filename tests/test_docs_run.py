"""The code of the docs runs, and the site builds without warnings and without the network.

A page's blocks run one after another in a folder with the files that the docs name. Python blocks
share their names; of shell blocks, `neardup` runs in this process, and what installs or builds is
checked against pyproject.toml and the Makefile. A block that cannot run here is marked in the page:
`<!-- not run: why -->` on the line before it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas
import pytest
import zstandard
from tools.docs_site import python_page
from tools.own_text_pictures import draw_pictures
from typer.testing import CliRunner

from neardup.cli.main import app
from neardup.cli.warm_up import DEMO_PAGES
from neardup.evaluation.synth import write_set
from sample_pages import write_jsonl
from test_docs import PRESENT, ROOT, blocks, is_module

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RUN = [
    page for page in PRESENT if any(language in ("sh", "python") for language, _ in blocks(page))
]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.M))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the docs name."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(DEMO_PAGES, folder / "pages")
    shutil.copytree(DEMO_PAGES / "harbourtimes.example", folder / "site")
    stories = [*(folder / "pages" / "valleyherald.example").rglob("*.htm")]
    stories += [*(folder / "pages" / "harbourtimes.example").rglob("*.html")]
    for name, file in zip(("a.html", "b.html"), stories, strict=False):
        shutil.copy(file, folder / name)
    write_set(folder / "labelled", 80, 1, length="short", workers=1)
    write_set(folder / "archive", 60, 2, length="short", workers=1, format="warc")
    shutil.move(folder / "archive" / "pages.warc.gz", folder / "crawl.warc.gz")
    texts = [f"{story} " * 3 + "The port said so." for story in _texts()]
    records: list[dict[str, object]] = [
        {"id": str(row), "url": f"https://{row}.example/", "text": text}
        for row, text in enumerate([*texts, *texts[:3]])
    ]
    (folder / "documents").mkdir()
    for path in ("news.jsonl", "new.jsonl", "documents/0.jsonl"):
        write_jsonl(folder / path, records)
    compressed = zstandard.compress((folder / "new.jsonl").read_bytes())
    (folder / "new.jsonl.zst").write_bytes(compressed)
    frame = pandas.DataFrame(records).rename(columns={"id": "key", "text": "body", "url": "link"})
    frame.to_parquet(folder / "texts.parquet")
    return folder


def _texts() -> list[str]:
    places = ["harbour", "valley", "upland", "island", "market", "station"]
    return [
        f"The {place} line will run every {row + 2} minutes from next Monday because of the fair."
        for row, place in enumerate(places)
    ]


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of these files, as the working directory."""
    work = tmp_path / "work"
    shutil.copytree(prepared, work)
    monkeypatch.chdir(work)
    return work


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pandas.read_parquet("texts.parquet")
    module = types.ModuleType("page_of_the_docs")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where data classes look
    names: dict[str, Any] = vars(module)
    names |= {"frame": frame, "texts": frame["body"].tolist()}
    names |= {"html": (folder / "a.html").read_text("utf-8"), "url": "https://a.example/1"}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
        elif language == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                run_line(line)


def run_line(line: str) -> None:
    """Run a line of shell, or check what it names."""
    words = shlex.split(line, comments=True)
    match words:
        case []:
            pass
        case ["neardup", *arguments]:
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, (line, done.output, done.exception)
        case ["pip", "install", package]:
            assert set(_extras(package)) <= set(EXTRAS), line
        case ["make", target, *_]:
            assert target in TARGETS, line
        case ["python", "-m", module, *_]:
            assert is_module(module), line
        case ["python", script, *_]:
            assert (ROOT / script).is_file(), line
        case _:
            pytest.fail(
                f"{line!r} can neither run nor be checked: mark its block '<!-- not run: why -->'"
            )


def _extras(package: str) -> list[str]:
    name, _, extras = package.partition("[")
    assert name == "neardup", package
    return [each for each in extras.rstrip("]").split(",") if each]


def test_the_reference_runs_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the docstrings."""
    (folder / "python.md").write_text(python_page(), encoding="utf-8")
    test_the_code_of_a_page_runs(folder / "python.md", folder, monkeypatch)


def test_pictures_are_those_of_today() -> None:
    """`python tools/own_text_pictures.py` draws them anew."""
    for name, picture in draw_pictures().items():
        assert (ROOT / "docs" / name).read_text("utf-8") == picture, name


# The site


class Links(HTMLParser):
    """What a page loads, where it links to, and its anchors."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.anchors |= {named[name] for name in ("id", "name") if name in named}
        if "src" in named:
            self.loads.append(named["src"])
        if tag == "link" and named.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(named["href"])
        if tag == "a" and "href" in named:
            self.links.append(named["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning an error."""
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return built


def test_the_site_fetches_nothing(site: Path) -> None:
    for file in site.rglob("*.html"):
        loads = Links(file.read_text("utf-8")).loads
        assert [each for each in loads if re.match(r"(https?:)?//", each)] == [], file
    for file in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", file.read_text("utf-8")), file


def test_the_links_of_the_site_lead_somewhere(site: Path) -> None:
    pages = {file: Links(file.read_text("utf-8")) for file in site.rglob("*.html")}
    broken = []
    for file, page in pages.items():
        if file.name == "404.html":  # its links are from the root, wherever that is
            continue
        for link in [*page.links, *page.loads]:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = Path(os.path.normpath(file.parent / name)) if name else file
            known = pages[target].anchors if target in pages else set()
            if not target.exists() or (anchor and target in pages and anchor not in known):
                broken.append((str(file.relative_to(site)), link))
    assert broken == []


def test_the_reference_has_every_command_option_and_name(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    assert "--max-page-size" in commands
    assert "neardup-recheck" in commands
    python = (site / "reference" / "python.html").read_text("utf-8")
    for name in ("find_duplicates", "Evaluation", "Index.add", "StoreError"):
        assert name in python
    assert "min_units" in (site / "reference" / "methods.html").read_text("utf-8")


def test_pictures_and_chinese_pages_are_there(site: Path) -> None:
    assert "own text that both pages have" in (site / "images" / "own-text-zh.svg").read_text(
        "utf-8"
    )
    assert '<html lang="zh-CN"' in (site / "zh" / "news.html").read_text("utf-8")
    searched = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    assert any("own-text" in each["title"] for each in searched["docs"])
