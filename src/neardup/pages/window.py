"""A moving window over an archive's bytes: records are taken from it one by one.

A record never runs past damage, nor past the start of a gzip member that opens another record;
there the window stops, and the reader learns that the record's length was wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from neardup.pages.unpack import Chunk, Damage

_OVERLAP = 4096  # a record's start is recognised within so many bytes


class Window:
    """Bytes from chunks; `starts` matches where a record begins; `size` is theirs, if known."""

    def __init__(
        self, chunks: Iterator[Chunk], starts: re.Pattern[bytes], size: int | None = None
    ) -> None:
        self._chunks = chunks
        self._starts = starts
        self._held: Chunk | None = None  # taken from the chunks, not yet entered
        self._data = b""
        self._at = 0
        self._unseen: float = math.inf if size is None else size  # bytes not entered yet

    def _hold(self) -> Chunk | None:
        if self._held is None:
            self._held = next(self._chunks, None)
        return self._held

    def _stops_before(self, chunk: Chunk) -> bool:
        return chunk.damage is not None or (
            chunk.opens and self._starts.match(chunk.data) is not None
        )

    def _enter(self) -> bool:
        """Go on into the next chunk, if the record may."""
        chunk = self._hold()
        if chunk is None or self._stops_before(chunk):
            return False
        self._turn_to(chunk)
        return True

    def _turn_to(self, chunk: Chunk) -> None:
        self._data, self._at, self._held = chunk.data, 0, None
        self._unseen -= len(chunk.data)

    @property
    def room(self) -> float:
        """How many bytes can still follow; infinite when that is not known."""
        return self._unseen + len(self._data) - self._at

    def begin(self) -> bool:
        """Go to the next record's first byte, over line ends and boundaries; False at the end."""
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
        """The damage the window stands before, if any."""
        chunk = self._hold() if self._at >= len(self._data) else None
        return chunk.damage if chunk else None

    def take_damage(self) -> Damage | None:
        """The damage the window stands before; from now on it is behind."""
        damage = self.damage
        if damage and self._held:
            self._held = self._held._replace(damage=None)
        return damage

    @property
    def ended(self) -> bool:
        """Nothing follows at all."""
        return self._at >= len(self._data) and self._hold() is None

    def take(self, size: int) -> bytes:
        """The next `size` bytes of the record, or as many as there are."""
        pieces: list[bytes] = []
        while size > 0 and (self._at < len(self._data) or self._enter()):
            piece = self._data[self._at : self._at + size]
            self._at += len(piece)
            size -= len(piece)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def skip(self, size: int) -> int:
        """Pass over `size` bytes; how many there were."""
        left = size
        while left > 0 and (self._at < len(self._data) or self._enter()):
            step = min(left, len(self._data) - self._at)
            self._at += step
            left -= step
        return size - left

    def peek(self, size: int) -> bytes:
        """The next bytes of the record without taking them."""
        seen = self.take(size)
        self.give_back(seen)
        return seen

    def give_back(self, data: bytes) -> None:
        """Put bytes back in front."""
        if data and self._data[max(0, self._at - len(data)) : self._at] == data:
            self._at -= len(data)
        elif data:
            self._data, self._at = data + self._data[self._at :], 0  # room counts them again

    def take_until(self, end: re.Pattern[bytes], limit: int) -> bytes | None:
        """The bytes up to and with the first match of `end`; None (and nothing taken) without."""
        seen = b""
        while len(seen) < limit:
            fresh = self.take(min(limit - len(seen), 2048))
            seen += fresh
            if match := end.search(seen):
                self.give_back(seen[match.end() :])
                return seen[: match.end()]
            if not fresh:
                break
        self.give_back(seen)
        return None

    def find_start(self) -> None:
        """Go to what looks like the next record's start, or to where the window stops."""
        tail = b""
        while self._at < len(self._data) or self._enter():
            text = tail + self._data[self._at :]
            self._at = len(self._data)
            if match := re.search(rb"(?<=\n)(?:" + self._starts.pattern + rb")", text):
                self.give_back(text[match.start() :])
                return
            tail = text[-_OVERLAP:]
