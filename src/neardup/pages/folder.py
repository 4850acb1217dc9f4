"""Pages that are files: HTML and plain text."""

from __future__ import annotations

from neardup.model import RawPage, Skip, SkipReason, Source
from neardup.pages.limits import Limits
from neardup.pages.unpack import Chunks


def read_file(
    path: str, name: str, chunks: Chunks, limits: Limits, *, is_html: bool
) -> RawPage | Skip:
    """The page in one file. Its time is unknown: a file's own changes with every copy."""
    source = Source(path)
    pieces: list[bytes] = []
    size = 0
    for data, _, damage in chunks:
        if damage:
            return Skip(source, damage.reason, damage.detail, name)
        size += len(data)
        if size > limits.page_bytes:
            detail = f"above {limits.page_bytes} bytes"
            return Skip(source, SkipReason.TOO_LARGE, detail, name)
        pieces.append(data)
    if not size:
        return Skip(source, SkipReason.EMPTY, "the file is empty", name)
    # Two folders may hold the same relative path; the whole path tells the pages apart
    return RawPage(name, b"".join(pieces), is_html, source, again=path)
