"""What readers accept: how large a page may be, and which columns hold what.

The limits are the budget of a page. They count bytes, characters and layers, never seconds, so the
same input is read in the same way on every machine; a record beyond one of them is skipped and
counted with its reason. All later work takes time and memory that are linear in the bytes of a
page (`tests/kernels/test_linear_time.py`); what could grow faster is bounded where it happens: open
elements (`kernels.scan_tree.MAX_DEPTH`), pieces to assemble (`kernels.scan_assembly.MAX_PIECES`),
statements of a page about itself (`text.metadata.LONGEST`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from urllib.parse import quote

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

    If only one of `html` and `text` is named, only that one is read.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """`page_bytes` bounds a page after all decompression, while it is being decompressed.

    `columns` names the columns of tables and the fields of JSON lines that hold a page. `base_url`
    is the URL of a folder of pages.
    """

    page_bytes: int = 20_000_000
    columns: Columns = field(default_factory=Columns)
    base_url: str = ""

    def url_of(self, name: str) -> str:
        """The URL of the file of that name in a folder of pages; empty if it is not known.

        The index of a folder has the URL of the folder, as servers give it.
        """
        if not self.base_url:
            return ""
        folder, _, file = name.rpartition("/")
        path = f"{folder}/" if folder else ""
        if file.lower() not in ("index.html", "index.htm"):
            path += file
        return self.base_url.rstrip("/") + "/" + quote(path, safe="/~!$&'()*+,;=:@")

    @property
    def line_bytes(self) -> int:
        """The longest JSON line read: escapes can double a page, and other fields need room."""
        return 2 * self.page_bytes + 1_000_000

    @property
    def block_bytes(self) -> int:
        """The longest WARC block read whole: a page with its HTTP head."""
        return self.page_bytes + HEAD_BYTES


URL_LENGTH = 8192  # characters; browsers and servers accept no longer ones
FIELD_LENGTH = 65_536  # characters of the id or the title that a record states
CODINGS = 4  # of a response, one in another; each may decode to as much as a page
HEAD_BYTES = 65_536  # the longest head of a WARC record or HTTP response that is read
