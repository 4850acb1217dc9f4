"""The plain truth for `kernels.identity`: a page is its numbers, in the order of `COLUMNS`."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.kernels.identity import BYTES, CONTENT, NEITHER, SHELLS


def identical_kind(page: Sequence[int], other: Sequence[int]) -> int:
    """In what two pages are identical."""
    low, high, of_bytes, content, shell = page
    if not low or [low, high] != list(other[:2]):
        return NEITHER
    same_bytes, same_content, same_shell = (
        one == two for one, two in zip(page[2:], other[2:], strict=True)
    )
    kind = BYTES if same_bytes else CONTENT if same_content else NEITHER
    may_be_shells = same_shell and shell != 0
    return SHELLS if may_be_shells and (kind == NEITHER or of_bytes == content) else kind
