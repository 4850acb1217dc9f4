"""The docs name only what exists: source files, links, commands, options, modules."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from neardup.cli.main import app

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "neardup"
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
)
# What a changelog and a table of moved modules name may be gone.
PRESENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
FOLDERS = {folder.name for folder in SOURCE.iterdir() if folder.is_dir()}
TOP_LEVEL = {"tests", "bench", "docs", "examples", "deploy", "tools", "src", ".ci"}

pytestmark = pytest.mark.parametrize("page", PRESENT, ids=lambda page: str(page.relative_to(ROOT)))


def code_spans(page: Path) -> list[str]:
    """The `code` of a page, outside its code blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.findall(r"`([^`\n]+)`", text)


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_paths_exist(page: Path) -> None:
    """`local/runs.py`, `methods/`, `kernels/scan*.py: scan`, `tests/conftest.py` ..."""
    missing = []
    for span in code_spans(page):
        path = span.partition(": ")[0]
        if not re.fullmatch(r"[\w.*-]+(/[\w.*-]+)*/?", path):
            continue
        first = path.split("/")[0]
        if path.startswith("text/") and "." not in path and not path.endswith("/"):
            continue  # a media type
        if "/" in path and first in FOLDERS | TOP_LEVEL:
            bases = [ROOT] if first in TOP_LEVEL else [SOURCE]
        elif path.endswith(".py"):  # a module without its folder
            bases = [SOURCE, *(each for each in SOURCE.rglob("*") if each.is_dir()), ROOT]
        else:
            continue
        if not any(list(base.glob(path.rstrip("/"))) for base in bases):
            missing.append(path)
    assert missing == []


def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in headings(file)):
            broken.append(target)
    assert broken == []


def command_lines(page: Path) -> Iterator[list[str]]:
    """`neardup COMMAND ...` as words, from code spans and code blocks."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"(?<![\w.\[/'-])neardup ([a-z]+\b[^`\n#|;&]*)", text):
        yield line.split()


def test_commands_and_options_exist(page: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    unknown = []
    for command, *words in command_lines(page):
        if command not in commands:
            if any(word.startswith("--") for word in words):  # prose may say "neardup finds"
                unknown.append(command)
            continue
        options = {name for each in commands[command].params for name in each.opts}
        options |= {name for each in commands[command].params for name in each.secondary_opts}
        options.add("--help")
        named = {re.match(r"--[\w-]*", word)[0] for word in words if word.startswith("--")}  # type: ignore[index]
        unknown += [f"{command} {name}" for name in sorted(named - options)]
    assert unknown == []


def test_options_belong_to_a_command(page: Path) -> None:
    """An option that stands alone, as in `--memory 2GB`."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parameters = [each for command in commands.values() for each in command.params]
    known = {name for each in parameters for name in (*each.opts, *each.secondary_opts)}
    known |= {"--help", "--version", "--full", "--write"}  # the last two: python -m bench
    spans = [span for span in code_spans(page) if span.startswith("--")]
    assert [span for span in spans if re.split(r"[ =]", span)[0] not in known] == []


def test_modules_can_be_imported(page: Path) -> None:
    """`from neardup.service.client import Client`, `python -m bench parsing`."""
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"^(?:from|import) (neardup[\w.]*)", text, flags=re.M))
    modules |= {f"bench.{name}" for name in re.findall(r"python -m bench[. ]([a-z_]+)", text)}
    assert [name for name in sorted(modules) if not is_module(name)] == []


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor is its package
        return False


# Code blocks: every one runs, is checked, or says why not.

FENCE = re.compile(r"((?:<!--[^\n]*-->\n)?)^```(\w*)\n(.*?)^```$", flags=re.S | re.M)
NOT_RUN = "<!-- not run: "
# Languages that are shown, not run.
SHOWN = {"", "text", "mermaid", "nginx", "sql", "yaml", "html", "css", "ini"}
STARTS = ("neardup ", "pip ", "make ", "python ", "curl ", "from ", "import ", "$ ")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and content of the code blocks of a page that are not marked as not run."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [(language, code) for mark, language, code in found if not mark.startswith(NOT_RUN)]


def test_blocks_name_their_language(page: Path) -> None:
    """A block of commands or Python without a language would never run."""
    unnamed = [
        code
        for language, code in blocks(page)
        if language in SHOWN and any(line.startswith(STARTS) for line in code.splitlines())
    ]
    assert unnamed == []
    assert {language for language, _ in blocks(page)} <= SHOWN | {"sh", "python", "json", "toml"}


def test_data_in_blocks_can_be_read(page: Path) -> None:
    for language, code in blocks(page):
        if language == "toml":
            tomllib.loads(code)
        if language == "json":
            for line in code.splitlines():
                json.loads(line)
