"""What the tokeniser passes over: comments, declarations, and elements without markup in them."""

from __future__ import annotations

import numpy as np

from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_bytes import Bytes, find, hash_of, name_hash
from neardup.kernels.scan_tags import SCRIPT, read_name

LESS, GREATER, SLASH, BANG, DASH = 60, 62, 47, 33, 45
_CDATA = np.uint64(hash_of("[cdata["))
_SCRIPT_HASH = np.uint64(hash_of("script"))


@kernel
def after_markup_declaration(data: Bytes, i: int, end: int, foreign: bool) -> int:
    """The place after what `<!` at i begins: a comment, a doctype, CDATA, or anything else."""
    if i + 3 < end and data[i + 2] == DASH and data[i + 3] == DASH:
        return _after_comment(data, i + 4, end)
    if foreign and i + 9 <= end and name_hash(data, i + 2, i + 9) == _CDATA:
        return _after_cdata(data, i + 9, end)
    return after_bogus_comment(data, i + 2, end)


@kernel
def after_bogus_comment(data: Bytes, i: int, end: int) -> int:
    """The place after the next `>`."""
    return min(find(data, i, end, GREATER) + 1, end)


@kernel
def _after_comment(data: Bytes, i: int, end: int) -> int:
    if i < end and data[i] == GREATER:  # <!-->
        return i + 1
    if i + 1 < end and data[i] == DASH and data[i + 1] == GREATER:  # <!--->
        return i + 2
    first = i
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return end
        if i - 2 >= first and data[i - 1] == DASH and data[i - 2] == DASH:
            return i + 1
        if i - 3 >= first and data[i - 1] == BANG and data[i - 2] == DASH and data[i - 3] == DASH:
            return i + 1
        i += 1


@kernel
def _after_cdata(data: Bytes, i: int, end: int) -> int:
    first = i
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return end
        if i - 2 >= first and data[i - 1] == 93 and data[i - 2] == 93:  # ']'
            return i + 1
        i += 1


@kernel
def find_end_tag(data: Bytes, i: int, end: int, tag: int, name: np.uint64) -> int:
    """Where the end tag of a raw-text element begins whose content starts at i, or `end`."""
    if tag == SCRIPT:
        return _find_script_end(data, i, end)
    while True:
        i = find(data, i, end, LESS)
        if i >= end:
            return end
        if i + 1 < end and data[i + 1] == SLASH and _is_name(data, i + 2, end, name):
            return i
        i += 1


@kernel
def _is_name(data: Bytes, i: int, end: int, name: np.uint64) -> bool:
    """Whether a tag of this name begins here and its name ends before the data does."""
    _, after, value = read_name(data, i, end)
    return after < end and value == name


@kernel
def _find_script_end(data: Bytes, i: int, end: int) -> int:
    """As `find_end_tag`, for a script: within `<!-- ... -->` a `<script>` hides one `</script>`."""
    escaped, doubly = False, False
    escaped_from = 0
    while True:
        opening = find(data, i, end, LESS)
        if escaped and _leaves_escape(data, i, opening, escaped_from):
            escaped, doubly = False, False
        if opening >= end:
            return end
        i = opening
        if i + 1 < end and data[i + 1] == SLASH:
            if _is_name(data, i + 2, end, _SCRIPT_HASH):
                if not doubly:
                    return i
                doubly = False
        elif not escaped:
            if i + 3 < end and data[i + 1] == BANG and data[i + 2] == DASH and data[i + 3] == DASH:
                escaped = True
                escaped_from = i + 2  # the dashes of `<!--` may be those of `-->`
        elif not doubly and _is_name(data, i + 1, end, _SCRIPT_HASH):
            doubly = True
        i += 1


@kernel
def _leaves_escape(data: Bytes, i: int, end: int, first: int) -> bool:
    """Whether `-->` ends in data[i:end], with its dashes from `first` on."""
    while True:
        i = find(data, i, end, GREATER)
        if i >= end:
            return False
        if i - 2 >= first and data[i - 1] == DASH and data[i - 2] == DASH:
            return True
        i += 1
