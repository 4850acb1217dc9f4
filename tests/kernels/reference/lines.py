"""The plain truth for `kernels.lines`, over text instead of bytes."""

from __future__ import annotations

import re

from kernels.reference.shingles import BASE, WORD, mix

WINDOW, TRACES = 32, 4
SENTENCE_END = re.compile(r"(?:\.(?=[\x00-\x20])|\.\Z|[!?;。！？；])")


def lines(text: str) -> list[str]:
    """The lines of a document, without their ends."""
    return text.split("\n") if text else []


def sentences(line: str) -> list[str]:
    """The pieces of a line (its line end included), each up to a mark that may end a sentence."""
    cuts = [match.end() for match in SENTENCE_END.finditer(line) if match.end() < len(line)]
    return [line[start:end] for start, end in zip([0, *cuts], [*cuts, len(line)], strict=True)]


def is_dense(line: str, tokens: int) -> bool:
    """Whether at least half of the tokens are characters of scripts written without spaces."""
    characters = sum(
        0x3000 <= ord(c) <= 0x9FFF or 0x10000 <= ord(c) <= 0x3FFFF or 0x0E00 <= ord(c) <= 0x0EFF
        for c in line
    )
    return characters > 0 and 2 * characters >= tokens


def traces(line: bytes) -> list[int]:
    """The smallest hash in each part of the windows of a line; 0 for a part without any."""
    if len(line) < 2 * WINDOW:
        return [0] * TRACES
    windows = {
        line[at : at + WINDOW]
        for at in range(len(line) - WINDOW + 1)
        if at == 0 or line[at - 1 : at] == b" " or line[at] >= 0xE0
    }
    hashes = {_window_hash(window) for window in windows}
    return [
        min((each for each in hashes if each % TRACES == part), default=0) for part in range(TRACES)
    ]


def _window_hash(window: bytes) -> int:
    value = 0
    for at in range(0, WINDOW, 8):
        value = (value * BASE + int.from_bytes(window[at : at + 8], "little")) % WORD
    return mix(value)
