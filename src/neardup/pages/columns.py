"""Which columns of a table, or fields of a record, hold what, and what to say when none does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches

from neardup.errors import UsageError

# What people call the content of a page, the likeliest first.
USUAL_TEXTS = (
    *("text", "content", "body", "raw_content", "page_content", "document", "article"),
    *("raw_text", "plain_text", "markdown", "passage", "message", "description"),
)
USUAL_HTML = ("html", "raw_html", "page_html", "html_content", "page_source")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns to read. A dot leads into nested fields: `meta.url`.

    Whoever names one of `html` and `text` means that one only.
    """

    html: str = ""
    text: str = ""
    id: str = "id"
    url: str = "url"
    title: str = "title"
    time: str = "time"

    def __post_init__(self) -> None:
        if not (self.html or self.text):
            object.__setattr__(self, "html", "html")
            object.__setattr__(self, "text", "text")

    @classmethod
    def named(cls, names: Mapping[str, str] | None) -> Columns:
        """Columns by what they hold: `{"text": "body", "id": "doc_id"}`."""
        known = [field.name for field in fields(cls)]
        for what in names or ():
            if what not in known:
                raise UsageError(f"columns hold {', '.join(known)}, not {what!r}")
        return cls(**(names or {}))

    @property
    def by_content(self) -> dict[str, str]:
        """What is held, and the name of its column, where there is one."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {what: name for what, name in every.items() if name}

    @property
    def are_usual(self) -> bool:
        """Whether every column has the name of what it holds."""
        return all(what == name for what, name in self.by_content.items()) and len(
            self.by_content
        ) == len(fields(self))

    def pick(self, record: Mapping[str, object]) -> Mapping[str, object]:
        """The values of a record by what they hold."""
        if self.are_usual:
            return record
        return {what: value_at(record, name) for what, name in self.by_content.items()}

    @property
    def content(self) -> list[str]:
        """The columns that may hold a page, the better first."""
        return [name for name in (self.html, self.text) if name]


def value_at(record: Mapping[str, object], path: str) -> object:
    """The value under a name, or under nested names that dots separate."""
    if path in record:
        return record[path]
    first, dot, rest = path.partition(".")
    inner = record.get(first)
    return value_at(inner, rest) if dot and isinstance(inner, Mapping) else None


def nested_names(record: Mapping[str, object]) -> list[str]:
    """The names of a record, those of nested records after a dot."""
    names: list[str] = []
    for name, value in record.items():
        inner = nested_names(value) if isinstance(value, Mapping) else []
        names += [f"{name}.{each}" for each in inner] or [name]
    return names


ADVICE = "--{what}-column {name}"


def likely_column(names: Sequence[str]) -> tuple[str, str] | None:
    """The column that most likely holds pages, and whether it is `text` or `html`."""
    simple = {name.rpartition(".")[2].lower(): name for name in reversed(names)}
    for what, usual in (("html", USUAL_HTML), ("text", USUAL_TEXTS)):
        for name in usual:
            if name in simple:
                return simple[name], what
    for name, original in simple.items():
        if any(part in name for part in ("text", "content", "body")):
            return original, "text"
    return None


def no_content(columns: Columns, names: Sequence[str], advice: str = ADVICE) -> str:
    """One line for a table without pages: what it lacks, what it has, what to name.

    `advice` says how, with `{what}` and `{name}` to be filled in.
    """
    lacks = " or ".join(columns.content)
    has = ", ".join(names) or "none"
    likely = likely_column(names)
    close = get_close_matches(columns.content[-1], names, 1)
    if likely is None and close:
        likely = close[0], "text"
    hint = ""
    if likely is not None:
        hint = "; name the one that holds the pages: " + advice.format(
            what=likely[1], name=likely[0]
        )
    return f"no column {lacks}; the columns are: {has}{hint}"
