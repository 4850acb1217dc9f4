"""Text of pages as it may be shown: no character of it hides, reorders or ends anything."""

from __future__ import annotations

import re

# Controls but the tab and the line end, marks that turn the direction of writing, and halves of
# characters, which UTF-8 cannot hold.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DELETE = 0x7F


def visible(text: str) -> str:
    """`text` with every hidden character in a form that can be seen."""
    return _HIDDEN.sub(_shown, text)


def shortened(text: str, limit: int) -> str:
    """One visible line of at most `limit` characters."""
    line = " ".join(visible(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == _DELETE:
        return "\u2421"
    return f"⟨U+{code:04X}⟩" if 0x2000 <= code < 0x2100 else "\ufffd"
