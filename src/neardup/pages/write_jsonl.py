"""Kept pages as JSON lines."""

from __future__ import annotations

import json
from typing import BinaryIO

from neardup.model import RawPage
from neardup.pages.original import JsonLine
from neardup.pages.packing import Packer
from neardup.pages.page_fields import json_fields


class JsonWriter:
    """One object a line; a line that came in goes out as it was."""

    def __init__(self, stream: BinaryIO, packer: Packer) -> None:
        self._stream = packer.open(stream)

    def write(self, raw: RawPage, html_text: str | None = None) -> None:
        """Write a page."""
        if isinstance(raw.original, JsonLine):
            line = raw.original.line.strip()
        else:
            line = json.dumps(json_fields(raw, html_text), ensure_ascii=False).encode(
                "utf-8", "replace"
            )
        self._stream.write(line + b"\n")

    def finish(self) -> None:
        """Write what is left."""
        self._stream.close()
