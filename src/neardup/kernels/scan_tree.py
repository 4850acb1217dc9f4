# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The open elements of a page: which end tag closes what, and which start tags close others.

The stack has a frame for each open element. Beside it the state holds the depth of the innermost
frame of every element (INNERMOST + tag), and of those that bound how far an end tag reaches:

    SCOPE_AT    tables, cells, templates ...: ends of other elements do not reach through it
    SPECIAL_AT  blocks and the like: ends of inline elements do not reach through it
    ITEM_AT     as SPECIAL_AT, without address, div and p: where a list item may look for the last

A frame remembers what these were before it, so that closing it puts them back. "Is one open within
this scope?" is then one comparison of depths, and a page takes time in proportion to its tags,
however deep or unmatched they are. 0 stands for none: the first frame is at depth 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scan_tags as t
from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
from neardup.kernels.scan_bytes import Bytes
from neardup.kernels.scan_text import (
    CONTEXT,
    DEPTH,
    FOREIGN,
    INNERMOST,
    ITEM_AT,
    LINK,
    LOWEST,
    OUTER_LINK,
    SCOPE_AT,
    SKIPPED,
    SPECIAL_AT,
    Marks,
    State,
    end_block,
    set_context,
)

MAX_DEPTH = 1024  # deeper elements take the place of the innermost one, as in browsers

# Columns of a frame.
TAG, FLAGS, SAME_BEFORE, SCOPE_BEFORE, SPECIAL_BEFORE, ITEM_BEFORE, CONTEXT_BEFORE = range(7)
FRAME_SIZE = 7

Frames = NDArray[np.int32]


@inlined_kernel
def push(
    frames: Frames, state: State, text: Bytes, marks: Marks, tag: int, flags: int, context: int
) -> None:
    """Open an element whose content has this context."""
    if state[DEPTH] == MAX_DEPTH:
        pop_to(frames, state, text, marks, MAX_DEPTH)
    depth = state[DEPTH] + 1
    state[DEPTH] = depth
    frames[depth, TAG] = tag
    frames[depth, FLAGS] = flags
    frames[depth, SAME_BEFORE] = state[INNERMOST + tag]
    frames[depth, SCOPE_BEFORE] = state[SCOPE_AT]
    frames[depth, SPECIAL_BEFORE] = state[SPECIAL_AT]
    frames[depth, ITEM_BEFORE] = state[ITEM_AT]
    frames[depth, CONTEXT_BEFORE] = state[CONTEXT]
    state[INNERMOST + tag] = depth
    if flags & t.SPECIAL:
        state[SPECIAL_AT] = depth
        if tag not in (t.ADDRESS, t.DIV, t.P):
            state[ITEM_AT] = depth
    if flags & t.SCOPE:
        state[SCOPE_AT] = depth
        if context & LINK:
            context = (context & ~LINK) | OUTER_LINK
    set_context(text, state, context)


@kernel
def pop_to(frames: Frames, state: State, text: Bytes, marks: Marks, depth: int) -> None:
    """Close elements down to and with the frame at `depth`."""
    _pop_to(frames, state, text, marks, depth)


@inlined_kernel
def _pop_to(frames: Frames, state: State, text: Bytes, marks: Marks, depth: int) -> None:
    """`pop_to`, for the one place that most elements are closed at."""
    state[LOWEST] = min(state[LOWEST], depth)
    while state[DEPTH] >= depth:
        top = state[DEPTH]
        if frames[top, FLAGS] & t.BLOCK and not frames[top, CONTEXT_BEFORE] & SKIPPED:
            end_block(text, marks, state)
        state[INNERMOST + frames[top, TAG]] = frames[top, SAME_BEFORE]
        state[SCOPE_AT] = frames[top, SCOPE_BEFORE]
        state[SPECIAL_AT] = frames[top, SPECIAL_BEFORE]
        state[ITEM_AT] = frames[top, ITEM_BEFORE]
        context = np.int64(frames[top, CONTEXT_BEFORE])
        if not frames[top, FLAGS] & t.SCOPE:  # a link outlives the block it began in
            context = (context & ~LINK) | (state[CONTEXT] & LINK)
        set_context(text, state, context)
        state[DEPTH] -= 1


@inlined_kernel
def close_implied(frames: Frames, state: State, text: Bytes, marks: Marks, tag: int) -> bool:
    """Close what the start of `tag` ends; False when the tag has no place here and is ignored.

    start of                     ends
    tr, td, tbody ...            what is open in the table, up to where the part belongs
    li; dd, dt                   the item before it
    blocks (CLOSES_P)            a paragraph, unless a scope or a button stands between
    h1 to h6, option             the one before it, if nothing is open in that
    button                       a button in scope
    table                        a table that it is in, but in no cell or caption of it
    select, input, textarea      a select in scope
    a                            a link
    form                         nothing; a form in a form is ignored
    """
    flags = t.FLAGS[tag]
    if flags & t.TABLE_PART:
        return _close_table_part(frames, state, text, marks, tag)
    if tag == t.LI or tag == t.DD or tag == t.DT:
        _close_item(frames, state, text, marks, tag)
    if flags & t.CLOSES_P:
        bound = max(state[SCOPE_AT], state[INNERMOST + t.BUTTON])
        _close_above(frames, state, text, marks, t.P, bound)
    if tag == t.H1 or tag == t.OPTION:
        _close_above(frames, state, text, marks, tag, state[DEPTH] - 1)
    elif tag == t.BUTTON:
        _close_above(frames, state, text, marks, tag, state[SCOPE_AT])
    elif tag == t.TABLE:
        cell = max(state[INNERMOST + t.TD], state[INNERMOST + t.TH], state[INNERMOST + t.CAPTION])
        _close_above(frames, state, text, marks, tag, max(cell, state[INNERMOST + t.TEMPLATE]))
    elif tag == t.SELECT or tag == t.INPUT or tag == t.TEXTAREA:
        closed = _close_above(frames, state, text, marks, t.SELECT, state[SCOPE_AT])
        return not closed or tag != t.SELECT  # `<select>` in a select is its end tag
    elif tag == t.FORM:
        return state[INNERMOST + t.FORM] <= state[INNERMOST + t.TEMPLATE]
    elif tag == t.A and state[CONTEXT] & LINK:
        close_link(frames, state, text, marks)
    return True


@inlined_kernel
def _close_above(
    frames: Frames, state: State, text: Bytes, marks: Marks, tag: int, bound: int
) -> bool:
    """Close the innermost element of this tag if it is deeper than `bound`; whether it was."""
    at = state[INNERMOST + tag]
    if at <= max(bound, 0):
        return False
    pop_to(frames, state, text, marks, at)
    return True


@inlined_kernel
def _close_item(frames: Frames, state: State, text: Bytes, marks: Marks, tag: int) -> None:
    """The start of a list item ends the item before it."""
    at = state[ITEM_AT]
    if at == 0:
        return
    open_tag = frames[at, TAG]
    if open_tag == tag or (tag != t.LI and (open_tag == t.DD or open_tag == t.DT)):
        pop_to(frames, state, text, marks, at)


@kernel
def _close_table_part(frames: Frames, state: State, text: Bytes, marks: Marks, tag: int) -> bool:
    """Close what is open within the table, up to where this part belongs."""
    place = state[INNERMOST + t.TABLE]
    if place <= state[INNERMOST + t.TEMPLATE]:
        return False
    if tag == t.TD or tag == t.TH:
        place = max(place, state[INNERMOST + t.TR], state[INNERMOST + t.TBODY])
    elif tag == t.TR:
        place = max(place, state[INNERMOST + t.TBODY])
    pop_to(frames, state, text, marks, place + 1)
    return True


@kernel
def close_link(frames: Frames, state: State, text: Bytes, marks: Marks) -> None:
    """The end of a link, also where blocks that began in it are still open."""
    close_element(frames, state, text, marks, t.A)


@inlined_kernel
def close_element(frames: Frames, state: State, text: Bytes, marks: Marks, tag: int) -> None:
    """An end tag.

    A formatting element may cross others: a block that began in it stays open. This is what HTML's
    adoption agency comes to when only the open elements count.
    """
    flags = t.FLAGS[tag]
    if flags & t.IGNORED:
        return
    if tag == t.FORM:
        _close_form(frames, state, text, marks)
        return
    at = state[INNERMOST + tag]
    bound = _bound(state, tag, flags)
    is_crossing = flags & t.FORMATTING and state[SCOPE_AT] < at <= bound
    if at > bound or is_crossing:
        _pop_to(frames, state, text, marks, state[SPECIAL_AT] + 1 if is_crossing else at)
    elif (tag == t.P or tag == t.BR) and not state[CONTEXT] & SKIPPED:
        end_block(text, marks, state)  # browsers make `</p>` and `</br>` elements of their own
    if is_crossing:
        state[INNERMOST + tag] = frames[at, SAME_BEFORE]
    if tag == t.A:
        set_context(text, state, state[CONTEXT] & ~LINK)


@inlined_kernel
def _bound(state: State, tag: int, flags: int) -> int:
    """How deep an element must be for its end tag to reach it: deeper than this."""
    if flags & t.FORMATTING:
        return state[SPECIAL_AT]
    bound = state[SPECIAL_AT] - 1
    if tag == t.P:
        bound = max(state[SCOPE_AT], state[INNERMOST + t.BUTTON])
    elif tag == t.LI:
        bound = max(state[SCOPE_AT], state[INNERMOST + t.OL], state[INNERMOST + t.UL])
    elif tag == t.TABLE or flags & t.TABLE_PART:
        bound = state[INNERMOST + t.TEMPLATE]
        if tag != t.TABLE:
            bound = max(bound, state[INNERMOST + t.TABLE])
    elif tag == t.TEMPLATE:
        bound = 0
    elif flags & t.SPECIAL or tag == t.DIALOG:
        bound = state[SCOPE_AT] - (flags & t.SCOPE > 0)
    return max(bound, 0)


@kernel
def _close_form(frames: Frames, state: State, text: Bytes, marks: Marks) -> None:
    """The end of a form closes nothing but items and paragraphs in it; others stay open."""
    form = state[INNERMOST + t.FORM]
    if form <= state[SCOPE_AT]:
        return
    while state[DEPTH] > form and t.IMPLIED_END[frames[state[DEPTH], TAG]]:
        pop_to(frames, state, text, marks, state[DEPTH])
    if state[DEPTH] == form:
        pop_to(frames, state, text, marks, form)
    else:
        state[INNERMOST + t.FORM] = 0


@kernel
def leave_foreign(frames: Frames, state: State, text: Bytes, marks: Marks) -> None:
    """Close svg or math: HTML begins in it."""
    while state[CONTEXT] & FOREIGN and state[DEPTH]:
        pop_to(frames, state, text, marks, state[DEPTH])
