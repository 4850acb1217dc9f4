"""WARC and ARC files as records, each complete or with a description of its defect.

A window moves over the bytes, and records are read from it one by one. A record never extends past
damage, nor past a gzip member that starts another record: the window stops there, and the reader
learns that the declared length was wrong.

fastwarc is the oracle in the tests, not the reader: it does not read ARC, stops at the first
damage, and takes a truncated record for a whole one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from neardup.model import SkipReason
from neardup.pages.fields import format_time, parse_arc_time
from neardup.pages.limits import HEAD_BYTES, Limits
from neardup.pages.streams import Chunk, Chunks, Damage

_OVERLAP = 4096  # the start of a record is recognised within this many bytes


class Window:
    """The next bytes of a stream of chunks.

    `starts` matches the start of a record; `size` is the total of bytes, if it is known.
    """

    def __init__(
        self, chunks: Iterator[Chunk], starts: re.Pattern[bytes], size: int | None = None
    ) -> None:
        self._chunks = chunks
        self._starts = starts
        self._held: Chunk | None = None  # read from the chunks, not yet entered
        self._data = b""
        self._at = 0
        self._unseen: float = math.inf if size is None else size  # bytes not entered yet

    def _hold(self) -> Chunk | None:
        if self._held is None:
            self._held = next(self._chunks, None)
        return self._held

    def _enter(self) -> bool:
        """Enter the next chunk, if the record may extend into it."""
        chunk = self._hold()
        if chunk is None or chunk.damage or (chunk.opens and self._starts.match(chunk.data)):
            return False
        self._turn_to(chunk)
        return True

    def _turn_to(self, chunk: Chunk) -> None:
        self._data, self._at, self._held = chunk.data, 0, None
        self._unseen -= len(chunk.data)

    @property
    def room(self) -> float:
        """How many bytes can still follow; infinite if unknown."""
        return self._unseen + len(self._data) - self._at

    def begin(self) -> bool:
        """Move to the first byte of the next record, across line ends; False at the end."""
        while True:
            while self._at < len(self._data) and self._data[self._at] in b"\r\n":
                self._at += 1
            if self._at < len(self._data):
                return True
            chunk = self._hold()
            if chunk is None or chunk.damage:
                return False
            self._turn_to(chunk)

    @property
    def damage(self) -> Damage | None:
        """The damage right after the window, if any."""
        chunk = self._hold() if self._at >= len(self._data) else None
        return chunk.damage if chunk else None

    def take_damage(self) -> Damage | None:
        """Step past the damage right after the window, and return it."""
        damage = self.damage
        if damage and self._held:
            self._held = self._held._replace(damage=None)
        return damage

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        return self._at >= len(self._data) and self._hold() is None

    def take(self, size: int) -> bytes:
        """Read the next `size` bytes of the record, or as many as there are."""
        pieces: list[bytes] = []
        while size > 0 and (self._at < len(self._data) or self._enter()):
            piece = self._data[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def skip(self, size: int) -> int:
        """Skip `size` bytes; returns how many there were."""
        left = size
        while left > 0 and (self._at < len(self._data) or self._enter()):
            step = min(left, len(self._data) - self._at)
            self._at += step
            left -= step
        return size - left

    def peek(self, size: int) -> bytes:
        """The next bytes of the record, without reading past them."""
        seen = self.take(size)
        self.give_back(seen)
        return seen

    def give_back(self, data: bytes) -> None:
        if data and self._data[max(0, self._at - len(data)) : self._at] == data:
            self._at -= len(data)
        elif data:
            self._data, self._at = data + self._data[self._at :], 0  # room counts them again

    def take_until(self, end: re.Pattern[bytes], limit: int) -> bytes | None:
        """Read to the end of the first match of `end`; if there is none, read nothing."""
        seen = b""
        while len(seen) < limit:
            fresh = self.take(min(limit - len(seen), 2048))
            unsearched = max(0, len(seen) - 3)  # `end` matches at most four bytes
            seen += fresh
            if match := end.search(seen, unsearched):
                self.give_back(seen[match.end() :])
                return seen[: match.end()]
            if not fresh:
                break
        self.give_back(seen)
        return None

    def find_start(self, *, after_head: bool = False) -> None:
        """Move to what looks like the start of the next record, or to where the window stops.

        A record starts at the start of a line, or right after a head: a damaged head may end with
        the empty line after its block.
        """
        tail = b"\n" if after_head else b""
        while self._at < len(self._data) or self._enter():
            text = tail + self._data[self._at :]
            self._at = len(self._data)
            if match := re.search(rb"(?<=\n)(?:" + self._starts.pattern + rb")", text):
                self.give_back(text[match.start() :])
                return
            tail = text[-_OVERLAP:]


_WARC_START = re.compile(rb"WARC/[01]\.\d+[ \t]*\r?\n")
_ARC_LINE = (
    rb"([a-zA-Z][\w+.-]{0,30}:[^\r\n]{0,4000}) ([\d.:a-fA-F]+|-) (\d{12,17}) ([^ \r\n]{1,200})"
    rb"(?: [^\r\n]{0,1000})? (\d{1,18})\r?\n"
)
_ARC_START = re.compile(_ARC_LINE)
RECORD_START = re.compile(rb"(?:" + _WARC_START.pattern + rb"|" + _ARC_LINE + rb")")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_END = re.compile(rb"\n")
_GIVE_UP = 1000  # broken records in a row


@dataclass(frozen=True, slots=True)
class Record:
    """A complete record. `block` is only its beginning if `oversize`."""

    number: int
    type: str
    headers: dict[str, str]  # lower-case names
    block: bytes
    head: bytes = b""  # as in the WARC file; empty for ARC
    oversize: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that could not be read."""

    number: int
    reason: SkipReason
    detail: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a record, before its block."""

    type: str
    headers: dict[str, str]
    length: int  # of the block; -1 if the head does not say
    raw: bytes


class HeadFormat(NamedTuple):
    """How the records of an archive begin."""

    starts: re.Pattern[bytes]
    read: Callable[[Window], Head | None]  # reads the head at the window, if there is one


def _read_warc_head(window: Window) -> Head | None:
    if not _WARC_START.match(window.peek(32)):
        return None
    raw = window.take_until(_HEAD_END, HEAD_BYTES)
    if raw is None:
        return None
    headers = parse_headers(raw)
    length = headers.get("content-length", "")
    size = int(length) if length.isdecimal() and len(length) < 19 else -1
    return Head(headers.get("warc-type", "").lower(), headers, size, raw)


def _read_arc_head(window: Window) -> Head | None:
    """One line before each block; the length is its last word."""
    raw = window.take_until(_LINE_END, HEAD_BYTES) or b""
    match = _ARC_START.match(raw)
    if match is None:
        window.give_back(raw)
        return None
    words = [word.decode("utf-8", "replace") for word in match.groups()]
    uri, address, digits, kind, length = words
    time = parse_arc_time(digits)
    headers = {"warc-target-uri": uri, "warc-ip-address": address, "content-type": kind}
    headers["warc-date"] = format_time(time) if time else ""
    is_about_file = uri.startswith("filedesc:")
    return Head("warcinfo" if is_about_file else "arc", headers, int(length), b"")


WARC = HeadFormat(_WARC_START, _read_warc_head)  # 0.17 to 1.1
ARC = HeadFormat(_ARC_START, _read_arc_head)  # 1 and 2


def parse_headers(head: bytes) -> dict[str, str]:
    """Name to value, names in lower case, a repeated header's values joined by commas."""
    headers: dict[str, str] = {}
    name = ""
    for line in head.decode("utf-8", "replace").split("\n")[1:]:
        if line[:1] in (" ", "\t") and name:
            headers[name] += " " + line.strip()
            continue
        name, colon, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        if colon:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        else:
            name = ""
    return headers


def target_of(headers: dict[str, str]) -> str:
    """The URL a record is about; some archives write it in angle brackets."""
    return headers.get("warc-target-uri", "").strip("<>")


def records(chunks: Chunks, limits: Limits, number: int = 0) -> Iterator[Record | Problem]:
    """Every record of the archive in order, complete or as a problem; numbered from `number`."""
    first = chunks.peek()
    head_format = ARC if first and _ARC_START.match(first.data) else WARC
    window = Window(chunks, head_format.starts, chunks.size)
    reader = _Records(window, head_format, limits, number)
    broken = 0
    for item in reader:
        yield item
        broken = broken + 1 if isinstance(item, Problem) else 0
        if broken == _GIVE_UP:
            detail = f"{_GIVE_UP} broken records in a row; the rest of the file is left"
            yield Problem(reader.number, SkipReason.BAD_RECORD, detail)
            return


@dataclass
class _Records:
    """Reads the records of one archive."""

    window: Window
    head_format: HeadFormat
    limits: Limits
    number: int  # of the record that is being read

    def __iter__(self) -> Iterator[Record | Problem]:
        while True:
            if self.window.begin():
                yield self._read_one()
            elif damage := self.window.take_damage():
                yield self._problem(damage.reason, damage.detail)
            else:
                return
            self.number += 1

    def _problem(self, reason: SkipReason, detail: str, uri: str = "") -> Problem:
        return Problem(self.number, reason, detail, uri)

    def _read_one(self) -> Record | Problem:
        head = self.head_format.read(self.window)
        if head is None:
            return self._headless()
        uri = target_of(head.headers)
        if head.length < 0:
            self.window.find_start(after_head=True)
            return self._problem(SkipReason.BAD_RECORD, "no length in the record's head", uri)
        if head.length > self.window.room:
            return self._impossible(head, uri)
        oversize = head.length > self.limits.block_bytes
        block = self.window.take(HEAD_BYTES if oversize else head.length)
        size = len(block)
        if oversize:
            size += self.window.skip(head.length - size)
        if (flaw := self._flaw(head.length, size)) is not None:
            if not oversize:
                self.window.give_back(block)
            self.window.find_start(after_head=not oversize)
            return self._problem(*flaw, uri)
        return Record(self.number, head.type, head.headers, block, head.raw, oversize)

    def _impossible(self, head: Head, uri: str) -> Problem:
        """A length beyond the end of the file: wrong if another record follows, else truncated."""
        detail = f"{head.length} bytes are announced, {self.window.room} are there"
        self.window.find_start(after_head=True)
        reason = SkipReason.TRUNCATED if self.window.ended else SkipReason.BAD_RECORD
        return self._problem(reason, detail, uri)

    def _headless(self) -> Problem:
        """Bytes that are not a record: skip them all, as one problem."""
        starts = self.head_format.starts.match(self.window.peek(4096))
        self.window.skip(1)
        self.window.find_start()
        damage = self.window.take_damage()
        if damage and damage.reason == SkipReason.TRUNCATED:
            return self._problem(damage.reason, damage.detail)
        if starts and self.window.ended:
            return self._problem(SkipReason.TRUNCATED, "the file ends in a record's head")
        return self._problem(SkipReason.BAD_RECORD, "not the head of a record")

    def _flaw(self, length: int, size: int) -> tuple[SkipReason, str] | None:
        """What is wrong with a block of `size` bytes that should have `length`."""
        if size < length:
            if damage := self.window.take_damage():
                return damage.reason, damage.detail
            detail = f"{length} bytes are announced, {size} are there"
            return (SkipReason.TRUNCATED if self.window.ended else SkipReason.BAD_RECORD), detail
        after = self.window.peek(2)
        if after in (b"", b"\r", b"\r\n") or after.startswith(b"\n"):
            return self._late_damage()
        if self.head_format.starts.match(self.window.peek(4096)):
            return None  # a record follows the block without a line end
        return SkipReason.BAD_RECORD, f"the block is not {length} bytes long, as announced"

    def _late_damage(self) -> tuple[SkipReason, str] | None:
        """A checksum that fails right after the block makes the block doubtful."""
        if self.window.begin():
            return None
        damage = self.window.damage
        if damage is None or not damage.inside or damage.reason != SkipReason.BAD_RECORD:
            return None
        self.window.take_damage()
        return damage.reason, damage.detail
