"""What the documentation site gets from the code: hooks of mkdocs (`mkdocs.yml`).

* The reference of commands, of Python and of the methods' options is made from the code at each
  build, so that it cannot differ from it.
* Files of the project that the docs link to (examples, the changelog) become part of the site, and
  the links lead there.

`python tools/docs_site.py FOLDER` writes the made pages, to look at or to test.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import typer

import neardup
from neardup.cli.main import app
from neardup.cli.options import TEXTS
from neardup.config import describe_options
from neardup.methods.registry import BUILT_IN, method_class

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

TOP = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
IN_NAV = ["CHANGELOG.md", "CONTRIBUTING.md", "examples/README.md"]
KINDS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
MADE = "<!-- made from the code by tools/docs_site.py -->\n"


def made_files() -> dict[str, str]:
    """The pages that are made, by their path in the site."""
    return {
        "reference/commands.md": MADE + commands_page(),
        "reference/python.md": MADE + python_page(),
        "reference/methods.md": MADE + methods_page(),
    }


# The command line


def commands_page() -> str:
    """Every command with its arguments, options and examples."""
    commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    parts = [
        "# Command line",
        "`neardup COMMAND --help` shows the same on a terminal. Exit codes: 0 success (even if "
        "pages were skipped), 1 bad input, 2 bad usage, 130 interrupted.",
        _table(
            ["command", "what it does"],
            [[f"[{name}](#neardup-{name})", _first(each.help)] for name, each in commands.items()],
        ),
    ]
    for name, command in commands.items():
        parts += [f"## neardup {name}", _unfold(command.help or "")]
        examples = TEXTS[name]["examples"]
        parts.append(
            "<!-- not run: examples of the help -->\n```sh\n" + "\n".join(examples) + "\n```"
        )
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        if arguments:
            rows = [[f"`{each.metavar or each.name.upper()}`", _help(each)] for each in arguments]
            parts.append(_table(["argument", ""], rows))
        for panel in dict.fromkeys(getattr(each, "rich_help_panel", None) for each in options):
            rows = [
                [_names(each), _help(each)]
                for each in options
                if getattr(each, "rich_help_panel", None) == panel
            ]
            parts.append(_table([panel or "option", ""], rows))
    return "\n\n".join(parts) + "\n"


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.is_flag:
        return names
    kind = option.type_descriptor.annotation
    return f"{names} `{option.metavar or KINDS.get(kind, 'TEXT')}`"


def _help(parameter: Any) -> str:
    text = str(getattr(parameter, "help", "") or "").replace("\\[", "[")
    if parameter.required:
        return f"{text} **Required.**"
    if "[default:" in text or parameter.default in (None, ()) or callable(parameter.default):
        return text
    default = {True: "yes", False: "no"}.get(parameter.default, parameter.default)
    return f"{text} [default: {default}]"


# Python


def python_page() -> str:
    """Every public name with its signature and docstring."""
    parts = [
        "# Python",
        "The public names of the package; what is not here may change at any time.",
        "```python\nimport neardup\nimport pandas  # for some of the examples\n```",
    ]
    listed = {name: getattr(neardup, name) for name in neardup.__all__}
    groups: dict[str, dict[str, Any]] = {
        "Functions": {name: each for name, each in listed.items() if inspect.isfunction(each)},
        "Classes": {
            name: each
            for name, each in listed.items()
            if inspect.isclass(each) and not issubclass(each, Exception)
        },
        "Errors": {
            name: each
            for name, each in listed.items()
            if inspect.isclass(each) and issubclass(each, Exception)
        },
    }
    for title, members in groups.items():
        parts.append(f"## {title}")
        for name, member in members.items():
            parts += [f"### {name}", *_described(name, member)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, member: Any) -> Iterator[str]:
    if inspect.isfunction(member):
        yield _signature(f"neardup.{name}", member)
    yield _docstring(member)
    if not inspect.isclass(member) or issubclass(member, Exception):
        return
    if issubclass(member, Enum):
        yield "Values: " + ", ".join(f"`{each.name}`" for each in member) + "."
        return
    if is_dataclass(member):
        rows = [[f"`{each.name}`", f"`{each.type}`", _default(each)] for each in fields(member)]
        yield _table(["field", "type", "default"], rows)
    for own, value in sorted(vars(member).items()):
        function = getattr(value, "__func__", value)
        if own.startswith("_") or not inspect.getdoc(value):
            continue
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            yield f"**`{name}.{own}`**: {_first(inspect.getdoc(value))}"
        elif inspect.isfunction(function):
            yield _signature(f"{name}.{own}", function)
            yield _docstring(function)


def _default(field: Any) -> str:
    return "" if field.default is MISSING else f"`{field.default!r}`"


def _signature(name: str, function: Any) -> str:
    """A signature as the source has it, one parameter a line where it is long."""
    signature = inspect.signature(function)
    listed = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    parameters = [_parameter(each) for each in listed]
    kinds = [each.kind for each in listed]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    returns = signature.return_annotation
    line = f"{name}({', '.join(parameters)}) -> {returns}"
    if len(line) > 100:
        inside = "".join(f"    {each},\n" for each in parameters)
        line = f"{name}(\n{inside}) -> {returns}"
    return f"```text\n{line}\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    text = f"{stars}{parameter.name}: {parameter.annotation}"
    if parameter.default is inspect.Parameter.empty:
        return text
    return f"{text} = {parameter.default!r}"


def _docstring(member: Any) -> str:
    """A docstring as Markdown: indented lines are an example."""
    parts = []
    for block in re.split(r"\n\n(?=    )|(?<=\n)\n(?=\S)", inspect.getdoc(member) or ""):
        if block.startswith("    "):
            parts.append("```python\n" + textwrap.dedent(block).strip() + "\n```")
        else:
            parts.append(_unfold(block))
    return "\n\n".join(parts)


# Methods


def methods_page() -> str:
    """The options of every method, with defaults and bounds."""
    parts = [
        "# Options of the methods",
        "Set them with `--set NAME=VALUE`, or `options=` in Python.",
    ]
    for name in BUILT_IN:
        method = method_class(name)
        parts += [f"## {name}", f"{_first(inspect.getdoc(method))} [More](../methods/{name}.md)"]
        rows = []
        for info in describe_options(method.Options):
            low, high = (
                "" if each is None else f"{each:g}" for each in (info.minimum, info.maximum)
            )
            bounds = f"{low} to {high}" if low or high else ""
            paper = (method.paper_preset or {}).get(info.name)
            printed = "" if paper is None else f"`{paper}`"
            rows.append([f"`{info.name}`", f"`{info.default}`", printed, bounds, info.help])
        parts.append(_table(["option", "default", "as printed", "bounds", ""], rows))
    return "\n\n".join(parts) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def _first(text: str | None) -> str:
    """The first paragraph, on one line."""
    return _unfold(text or "").split("\n\n")[0]


def _unfold(text: str) -> str:
    """Paragraphs on one line each."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


# Links that leave docs/


def site_path(path: Path) -> PurePosixPath:
    """Where a file of the project is in the site: docs/ is its top, the rest keeps its path."""
    relative = path.relative_to(TOP)
    inside = relative.parts[0] == "docs"
    return PurePosixPath(*(relative.parts[1:] if inside else relative.parts))


def linked_files() -> set[Path]:
    """Files outside docs/ that the docs, or a page added with them, link to."""
    waiting = [*(TOP / "docs").rglob("*.md"), *(TOP / name for name in IN_NAV)]
    found: set[Path] = set()
    while waiting:
        page = waiting.pop()
        for _, target, _ in LINK.findall(page.read_text(encoding="utf-8")):
            file = _target(page, target)
            if file is None or file in found or file.is_relative_to(TOP / "docs"):
                continue
            found.add(file)
            if file.suffix == ".md":
                waiting.append(file)
    return found


def _target(page: Path, link: str) -> Path | None:
    """The file of the project that a link names."""
    name = link.partition("#")[0]
    if not name or re.match(r"[a-z]+:", name):
        return None
    file = Path(os.path.normpath(page.parent / name))
    return file if file.is_file() and file.is_relative_to(TOP) else None


def moved_links(markdown: str, page: Path) -> str:
    """The page with its links as they are in the site."""
    here = site_path(page).parent

    def moved(link: re.Match[str]) -> str:
        file = _target(page, link[2])
        if file is None:
            return link[0]
        _, mark, anchor = link[2].partition("#")
        return f"{link[1]}{os.path.relpath(site_path(file), here)}{mark}{anchor}{link[3]}"

    return LINK.sub(moved, markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made, and what is linked to."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - only mkdocs calls this

    for path, content in made_files().items():
        files.append(File.generated(config, path, content=content))
    for file in sorted({*linked_files(), *(TOP / name for name in IN_NAV)}):
        path = str(site_path(file))
        if not files.get_file_from_path(path):
            files.append(File.generated(config, path, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of the page as they are in the site."""
    uri = page.file.src_uri
    source = next((each for each in (TOP / "docs" / uri, TOP / uri) if each.is_file()), None)
    return markdown if source is None else moved_links(markdown, source)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The language of the Chinese pages."""
    if page.file.src_uri.startswith("zh/"):
        return output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
    return output


if __name__ == "__main__":
    for made, content in made_files().items():
        target = Path(sys.argv[1]) / made
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
