"""The plain truth for `kernels.json_text`."""

from __future__ import annotations

import json


def quoted(text: str | None, before: str) -> str:
    """The text as JSON has it, with something before it; nothing for none."""
    return "" if text is None else before + json.dumps(text, ensure_ascii=False)
