"""From what the user names to files: globs, folders, kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from neardup.errors import InputError
from neardup.pages.archive import RECORD_START
from neardup.pages.places import Place, place_of


class Kind(Enum):
    """What is in a file."""

    HTML = auto()
    TEXT = auto()
    ARCHIVE = auto()  # WARC or ARC
    JSONL = auto()
    PARQUET = auto()
    OTHER = auto()  # not for us
    UNTOLD = auto()  # the name does not tell


_KINDS = {
    "html": Kind.HTML,
    "htm": Kind.HTML,
    "xhtml": Kind.HTML,
    "txt": Kind.TEXT,
    "warc": Kind.ARCHIVE,
    "arc": Kind.ARCHIVE,
    "wet": Kind.ARCHIVE,
    "jsonl": Kind.JSONL,
    "ndjson": Kind.JSONL,
    "json": Kind.JSONL,
    "parquet": Kind.PARQUET,
}
_NAME = re.compile(r"\.([a-z0-9]+)(?:\.(?:gz|zst))?$", re.I)
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[a-z!?]", re.I)
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


@dataclass(frozen=True, slots=True)
class File:
    """A file to read. `name` is the page's id when the file is a page."""

    path: str
    name: str
    kind: Kind
    place: Place


@dataclass(frozen=True, slots=True)
class _Named:
    """An input after globbing."""

    path: str
    place: Place
    is_folder: bool
    identity: str


def kind_of_name(path: str) -> Kind:
    """By the extension, under .gz or .zst too."""
    match = _NAME.search(path)
    return _KINDS.get(match[1].lower(), Kind.UNTOLD) if match else Kind.UNTOLD


def kind_of_content(start: bytes) -> Kind:
    """By the first bytes."""
    if RECORD_START.match(start):
        return Kind.ARCHIVE
    if start.startswith(b"PAR1"):
        return Kind.PARQUET
    if _OBJECT.match(start):
        return Kind.JSONL
    return Kind.HTML if _MARKUP.match(start) else Kind.OTHER


def resumes(data: bytes) -> bool:
    """Whether a compressed member begins with a record, so that reading can go on there."""
    return RECORD_START.match(data) is not None or data.startswith(b"{")


def find_files(inputs: Sequence[str]) -> Iterator[File]:
    """Every file once, sorted; an input that leads to nothing is an error, raised at once."""
    named = _without_repeats([each for text in inputs for each in _expand(text)])
    return (file for each in named for file in _files_of(each))


def _expand(text: str) -> list[_Named]:
    place = place_of(text)
    try:
        named = [
            _Named(path, place, place.is_folder(path), place.identity(path))
            for path in place.expand(text)
        ]
        found = [each for each in named if not each.is_folder or _has_pages(each)]
    except OSError as error:
        raise InputError(f"{text}: {error.strerror or error}") from None
    if not found:
        raise InputError(f"{text}: {_why_nothing(text, named)}")
    return found


def _why_nothing(text: str, named: list[_Named]) -> str:
    if named:
        return "there are no pages in this folder"
    return "nothing matches" if any(sign in text for sign in "*?[") else "no such file or folder"


def _without_repeats(named: list[_Named]) -> list[_Named]:
    """Sorted by path; what stands in a folder that is named as well is left to the folder."""
    by_identity = {each.identity: each for each in sorted(named, key=_path, reverse=True)}
    folders = {each.identity for each in named if each.is_folder}
    kept = [each for each in by_identity.values() if not _is_within(each, folders)]
    return sorted(kept, key=_path)


def _path(named: _Named) -> str:
    return named.path


def _is_within(named: _Named, folders: set[str]) -> bool:
    if not named.is_folder and kind_of_name(named.path) is Kind.UNTOLD:
        return False  # a folder's walk takes only names that tell
    above = named.identity
    while "/" in above:
        above = above.rpartition("/")[0]
        if above in folders:
            return True
    return False


def _has_pages(named: _Named) -> bool:
    return any(file.kind is not Kind.OTHER for file in _files_of(named))


def _files_of(named: _Named) -> Iterator[File]:
    if not named.is_folder:
        name = named.path.rpartition("/")[2]
        kind = Kind.JSONL if named.path == "-" else kind_of_name(named.path)
        yield File(named.path, name, kind, named.place)
        return
    for relative in named.place.walk(named.path):
        path = named.place.join(named.path, relative)
        kind = kind_of_name(relative)
        yield File(path, relative, Kind.OTHER if kind is Kind.UNTOLD else kind, named.place)
