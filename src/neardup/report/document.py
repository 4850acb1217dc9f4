"""One HTML file that loads nothing: style and script inside it, named by hash in its policy."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

ASSETS = Path(__file__).parent / "assets"
STYLES = ["report.css", "lists.css", "pair.css"]
SCRIPTS = ["show.js", "clusters.js", "pairs.js", "views.js"]  # in this order, as one script


def build_document(parts: Mapping[str, str], data: Mapping[str, Any]) -> str:
    """The report: `parts` are HTML for the template's places, `data` is for the script."""
    style = _joined(STYLES)
    script = f'"use strict";\n(() => {{\n{_joined(SCRIPTS)}}})();\n'
    template = Template(_read("report.html"))
    return template.substitute(
        parts,
        policy=_policy(style, script),
        style=style,
        script=script,
        data=script_safe_json(data),
    )


def script_safe_json(data: object) -> str:
    """JSON that cannot end the element it stands in, nor be taken for markup."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded or run but this very style and script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _joined(names: list[str]) -> str:
    return "\n".join(_read(name) for name in names)


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")
