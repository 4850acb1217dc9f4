"""The plain truth for `kernels.json_text`."""

from __future__ import annotations

import json
import re

from rapidfuzz.distance import Postfix, Prefix


def quoted(text: str | None, before: str) -> str:
    """The text as JSON has it, with something before it; nothing for none."""
    return "" if text is None else before + json.dumps(text, ensure_ascii=False)


def difference(text: str, other: str) -> str | tuple[int, int, str] | None:
    """None if the texts are equal, the text itself, or the characters shared at the start and at
    the end with the text between them."""
    if text == other:
        return None
    start = Prefix.similarity(text, other)
    rest, other_rest = text[start:], other[start:]
    end = Postfix.similarity(rest, other_rest)
    if start + end < 10 or max(text + other) > "\uffff":
        return text
    return start, end, rest[: len(rest) - end]


def count_values(data: bytes) -> int:
    """Openings and commas, once texts are taken out, the last one with or without its end."""
    bare = re.sub(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', b"", data, flags=re.DOTALL)
    return 1 + sum(bare.count(sign) for sign in (b"[", b"{", b","))
