# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""Markup that a browser shows elsewhere than it stands: streamed pages and shadow roots.

A server that streams (React 18 and later, Next.js) sends a page with gaps and fills them later:

    <!--$?--><template id="B:0"></template>fallback<!--/$-->      a boundary, with what stands in
    <template id="P:1"></template>                                a gap in a segment
    <div hidden id="S:0">the content</div>                        a segment, at the end of the page
    <script>$RC("B:0","S:0")</script>                             puts it in place of the fallback
    <script>$RS("S:1","P:1")</script>                             puts it into the gap

In a page that was stored without its scripts, a segment belongs where its number says.

A shadow root shows its own markup in place of what its host contains, which appears in its slots:

    <x-card><template shadowrootmode="open">shown <slot>default</slot></template>slotted</x-card>

The scanner notes these pieces as it meets them, with the elements they end with under watch, and
reads the calls; no script is run. Where something has to move, `assemble` writes the markup as the
browser would have it, each byte at most once, and that is scanned instead.

    WATCHED    depth of the innermost element under watch; 0 for none
    LOWEST     the lowest depth that was closed since it came under watch

So "has it ended?" is one comparison a tag, and a page without such pieces pays nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scan_tags as t
from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.scan_attributes import find_attribute
from neardup.kernels.scan_bytes import (
    APOSTROPHE,
    PRIME,
    QUOTE,
    Bytes,
    after_space,
    find,
    hash_of,
    name_hash,
)
from neardup.kernels.scan_text import (
    BOUNDARY_AT,
    CALLS,
    DEPTH,
    LOWEST,
    MOVES,
    PIECES,
    SCRIPTS,
    WATCHED,
    WATCHED_PIECE,
    State,
)
from neardup.kernels.scan_tree import TAG, Frames

MAX_PIECES = 4096  # of a page; what comes after them stays where it is
MAX_CALLS = MAX_PIECES  # of a page that are looked at; each looks through its pieces
NO_DEPTH = 1 << 30

# Columns of a piece. Pieces are numbered from 1, in the order of START; 0 stands for none.
KIND, NAME, START, END, ELEMENT, OUTER, ROOT, FIRST, LAST, NEXT, TAKEN = range(11)
PIECE_SIZE = 11
NESTED = LAST  # of a boundary: how many others are open in it
NUMBER = NEXT  # of what is streamed: its id without the letter

# kind       range                      under watch      FIRST
# boundary   template to `<!--/$-->`    -                the segment that replaces it
# gap        empty                      -                the segment that fills it
# segment    content                    the element      -
# root       -                          the template     of the runs of its host
# host       -                          the host         -
# run        some content of a host     a named child    -
# slot       content                    the slot         of the runs that replace it
BOUNDARY, GAP, SEGMENT, SHADOW_ROOT, HOST, RUN, SLOT = range(1, 8)

Pieces = NDArray[np.int64]

_ID, _SLOT_NAME, _NAME, _MODE = (
    np.uint64(hash_of(name)) for name in ("id", "slot", "name", "shadowrootmode")
)
_OPEN, _CLOSED = (np.uint64(hash_of(name)) for name in ("open", "closed"))
_MAY_HOST = np.zeros(256, np.bool_)  # a shadow root; elements of no known name do
_MAY_HOST[t.FIRST_UNKNOWN :] = True
_MAY_HOST[
    [t.ID[name] for name in "article aside blockquote div footer h1 header main nav p span".split()]
] = True
_MAY_HOST[t.ID["section"]] = True
DOLLAR, COLON, COMMA, OPENING, CLOSING, AMPERSAND, SLASH = 36, 58, 44, 40, 41, 38, 47
_R, _C, _S, _B, _P = (ord(letter) for letter in "RCSBP")


@kernel
def note_start(
    data: Bytes,
    i: int,
    attributes: int,
    after: int,
    end: int,
    tag: int,
    hidden: bool,
    frames: Frames,
    state: State,
    pieces: Pieces,
) -> bool:
    """Note what the start tag at i, which is about to be opened, begins; whether a shadow root."""
    close_watched(state, pieces, i, i)
    watched = state[WATCHED_PIECE]
    depth = state[DEPTH]
    is_root = tag == t.TEMPLATE and _is_shadow_root(data, attributes, end, frames, state, pieces)
    if watched and pieces[watched, KIND] == HOST and pieces[watched, ELEMENT] == depth:
        start, stop = find_attribute(data, attributes, end, _SLOT_NAME)
        if start < stop:
            _end_run(pieces, pieces[watched, ROOT], i)
            run = _begin_run(state, pieces, pieces[watched, ROOT], i)
            if run:
                pieces[run, NAME] = np.int64(name_hash(data, start, stop))
                _watch(state, pieces, run, depth + 1)
    if is_root:
        root = _add(state, pieces, SHADOW_ROOT, 0, i)
        if root:
            _watch(state, pieces, root, depth + 1)
            pieces[root, ROOT] = root
        return root > 0
    if tag == t.SLOT:
        _note_slot(data, attributes, end, after, state, pieces)
        return False
    if tag == t.TEMPLATE or hidden or tag == t.TR or tag == t.TBODY:
        _note_streamed(data, attributes, end, i, after, tag, state, pieces)
    return False


@kernel
def _is_shadow_root(
    data: Bytes, attributes: int, end: int, frames: Frames, state: State, pieces: Pieces
) -> bool:
    """Whether a template is the shadow root of the element it stands in; one has one at most."""
    start, stop = find_attribute(data, attributes, end, _MODE)
    if start < 0 or not _MAY_HOST[frames[state[DEPTH], TAG]] or state[DEPTH] == 0:
        return False
    watched = state[WATCHED_PIECE]
    if watched and pieces[watched, KIND] == HOST and pieces[watched, ELEMENT] == state[DEPTH]:
        return False
    mode = name_hash(data, start, stop)
    return mode == _OPEN or mode == _CLOSED


@kernel
def _note_slot(
    data: Bytes, attributes: int, end: int, after: int, state: State, pieces: Pieces
) -> None:
    watched = state[WATCHED_PIECE]
    root = pieces[watched, ROOT] if watched else 0
    if watched and pieces[watched, KIND] == HOST:
        root = _root_around(pieces, watched)
    if root:
        start, stop = find_attribute(data, attributes, end, _NAME)
        name = np.int64(name_hash(data, start, stop)) if start < stop else np.int64(0)
        slot = _add(state, pieces, SLOT, name, after)
        if slot:
            _watch(state, pieces, slot, state[DEPTH] + 1)
            pieces[slot, ROOT] = root


@kernel
def _root_around(pieces: Pieces, host: int) -> int:
    """The shadow root that the markup of a host is written in; 0 for none."""
    outer = pieces[host, OUTER]
    while outer and pieces[outer, KIND] == HOST:
        outer = pieces[outer, OUTER]
    return pieces[outer, ROOT] if outer else 0


@kernel
def _note_streamed(
    data: Bytes,
    attributes: int,
    end: int,
    i: int,
    after: int,
    tag: int,
    state: State,
    pieces: Pieces,
) -> None:
    """Note a boundary, a gap or a segment, which are known by their ids."""
    start, stop = find_attribute(data, attributes, end, _ID)
    letter, colon = _letter_of_id(data, start, stop)
    if letter == 0:
        return
    noted = state[PIECES]
    name = np.int64(name_hash(data, start, stop))
    if tag != t.TEMPLATE:
        if letter == _S:
            segment = _add(state, pieces, SEGMENT, name, after)
            if segment:
                _watch(state, pieces, segment, state[DEPTH] + 1)
    elif letter == _P:
        gap = _add(state, pieces, GAP, name, i)
        if gap:
            pieces[gap, END] = i
    elif letter == _B:
        boundary = _add(state, pieces, BOUNDARY, name, i)
        if boundary:
            pieces[boundary, ELEMENT] = state[DEPTH]
            pieces[boundary, OUTER] = state[BOUNDARY_AT]
            state[BOUNDARY_AT] = boundary
    if state[PIECES] > noted:
        pieces[state[PIECES], NUMBER] = np.int64(
            name_hash(data, start, colon - 1) ^ (name_hash(data, colon, stop) * PRIME)
        )


@kernel
def _letter_of_id(data: Bytes, start: int, stop: int) -> tuple[int, int]:
    """The B, P or S of an id that ends as `B:1f` does, or 0, and the place of the colon after it;
    a page may put a prefix before it."""
    i = stop
    while i > start and (48 <= data[i - 1] <= 57 or 97 <= data[i - 1] <= 102):
        i -= 1
    if start < 0 or i == stop or i - 2 < start or data[i - 1] != COLON:
        return 0, start
    return np.int64(data[i - 2]), i - 1


@kernel
def _add(state: State, pieces: Pieces, kind: int, name: int, start: int) -> int:
    """A new piece, or 0 where there is no more room."""
    if state[PIECES] == MAX_PIECES:
        return 0
    state[PIECES] += 1
    number = state[PIECES]
    pieces[number, :] = 0
    pieces[number, KIND] = kind
    pieces[number, NAME] = name
    pieces[number, START] = start
    pieces[number, END] = -1
    return number


@kernel
def _watch(state: State, pieces: Pieces, number: int, depth: int) -> None:
    """Note it when the element at `depth` ends."""
    outer = state[WATCHED_PIECE]
    pieces[number, OUTER] = outer
    pieces[number, ELEMENT] = depth
    if pieces[number, ROOT] == 0 and outer:
        pieces[number, ROOT] = pieces[outer, ROOT]
        if pieces[outer, KIND] == HOST:
            pieces[number, ROOT] = _root_around(pieces, outer)
    state[WATCHED_PIECE] = number
    state[WATCHED] = depth
    state[LOWEST] = NO_DEPTH


@kernel
def close_watched(state: State, pieces: Pieces, at: int, after: int) -> None:
    """End the pieces whose elements the tag at data[at:after] has closed."""
    while state[WATCHED] and state[LOWEST] <= state[WATCHED]:
        number, depth = state[WATCHED_PIECE], state[WATCHED]
        outer = pieces[number, OUTER]
        state[WATCHED_PIECE] = outer
        state[WATCHED] = pieces[outer, ELEMENT] if outer else 0
        kind = pieces[number, KIND]
        # An end tag closes its element last; the others around it end before the tag.
        past = after if state[LOWEST] == depth else at
        pieces[number, END] = at
        if kind == HOST:
            _end_run(pieces, pieces[number, ROOT], at)
        elif kind == RUN:
            pieces[number, END] = past
            _begin_run(state, pieces, pieces[outer, ROOT], past)
        elif kind == SHADOW_ROOT and state[PIECES] < MAX_PIECES - 1:
            lowest = state[LOWEST]
            host = _add(state, pieces, HOST, 0, past)
            pieces[host, ROOT] = number
            _watch(state, pieces, host, depth - 1)
            state[LOWEST] = lowest
            _begin_run(state, pieces, number, past)


@kernel
def _begin_run(state: State, pieces: Pieces, root: int, start: int) -> int:
    """A run of the content of a host, for one slot; 0 where there is no more room."""
    run = _add(state, pieces, RUN, 0, start)
    if run == 0:
        return 0
    last = pieces[root, LAST]
    if last:
        pieces[last, NEXT] = run
    else:
        pieces[root, FIRST] = run
    pieces[root, LAST] = run
    return run


@kernel
def _end_run(pieces: Pieces, root: int, end: int) -> None:
    last = pieces[root, LAST]
    if last and pieces[last, END] < 0:
        pieces[last, END] = end


@kernel
def note_comment(data: Bytes, i: int, end: int, state: State, pieces: Pieces) -> None:
    """A comment at i, within a boundary: React writes one where a boundary begins and ends."""
    boundary = state[BOUNDARY_AT]
    while boundary and state[DEPTH] < pieces[boundary, ELEMENT]:  # its parent is closed
        boundary = pieces[boundary, OUTER]
    state[BOUNDARY_AT] = boundary
    if boundary == 0 or i + 5 > end or data[i + 2] != t.DASH or data[i + 3] != t.DASH:
        return
    if data[i + 4] == DOLLAR or data[i + 4] == AMPERSAND:
        pieces[boundary, NESTED] += 1
    elif data[i + 4] == SLASH and i + 5 < end:
        if data[i + 5] != DOLLAR and data[i + 5] != AMPERSAND:
            return
        if pieces[boundary, NESTED] == 0:
            if state[DEPTH] > pieces[boundary, ELEMENT]:
                return
            pieces[boundary, END] = i
            boundary = pieces[boundary, OUTER]
            state[BOUNDARY_AT] = boundary
        if boundary and pieces[boundary, NESTED]:
            pieces[boundary, NESTED] -= 1


@kernel
def note_calls(data: Bytes, i: int, end: int, state: State, pieces: Pieces) -> None:
    """Note what a script in data[i:end] moves: `$RC("B:0","S:0")`, `$RR(...)`, `$RS("S:1","P:1")`.

    With a third argument that is a text, `$RC` leaves the fallback there: the segment failed.
    """
    while True:
        i = find(data, i, end, DOLLAR)
        if i + 4 >= end or state[CALLS] == MAX_CALLS:
            return
        call = data[i + 2]
        if (
            data[i + 1] != _R
            or data[i + 3] != OPENING
            or not (call == _C or call == _R or call == _S)
        ):
            i += 1
            continue
        first, first_end, i = _text_argument(data, i + 4, end)
        if first < 0 or i >= end or data[i] != COMMA:
            continue
        second, second_end, i = _text_argument(data, i + 1, end)
        if second < 0 or i >= end or not (data[i] == CLOSING or (call == _R and data[i] == COMMA)):
            continue
        state[CALLS] += 1
        one = np.int64(name_hash(data, first, first_end))
        other = np.int64(name_hash(data, second, second_end))
        if call == _S:
            _move(state, pieces, one, GAP, other)
        else:
            _move(state, pieces, other, BOUNDARY, one)


@kernel
def _text_argument(data: Bytes, i: int, end: int) -> tuple[int, int, int]:
    """Start and end of the text in quotes at i, and the place after it; -1 without one."""
    i = after_space(data, i, end)
    if i >= end or (data[i] != QUOTE and data[i] != APOSTROPHE):
        return -1, -1, i
    stop = find(data, i + 1, end, np.int64(data[i]))
    return i + 1, stop, after_space(data, min(stop + 1, end), end)


@kernel
def _move(state: State, pieces: Pieces, segment: int, kind: int, name: int) -> None:
    """Move a segment to the boundary or gap of this name, if both are there and in one piece."""
    moved = _named(state, pieces, SEGMENT, segment)
    goal = _named(state, pieces, kind, name)
    if moved:
        pieces[moved, TAKEN] = 1
    if moved and goal:
        pieces[goal, TAKEN] = 1
        pieces[goal, FIRST] = moved
        state[MOVES] += 1


@kernel
def _named(state: State, pieces: Pieces, kind: int, name: int) -> int:
    for number in range(1, state[PIECES] + 1):
        if pieces[number, KIND] == kind and pieces[number, NAME] == name:
            if pieces[number, END] >= 0 and not pieces[number, TAKEN]:
                return number
    return 0


@kernel
def is_to_assemble(state: State, pieces: Pieces) -> bool:
    """Whether anything that was noted has to move; slots are filled first."""
    if state[SCRIPTS] == 0:
        _move_by_number(state, pieces)
    for number in range(1, state[PIECES] + 1):
        kind = pieces[number, KIND]
        if kind == RUN and pieces[number, START] < pieces[number, END]:
            state[MOVES] += 1
        elif kind == SLOT and pieces[number, END] >= 0:
            _fill_slot(pieces, number)
    return state[MOVES] > 0


@kernel
def _move_by_number(state: State, pieces: Pieces) -> None:
    """Move each segment to the boundary or gap of its number. Whoever left out the scripts may have
    left out the comments, too, which say where a fallback ends: then it stays."""
    for goal in range(1, min(state[PIECES], MAX_CALLS) + 1):
        kind = pieces[goal, KIND]
        if kind != BOUNDARY and kind != GAP:
            continue
        for number in range(1, state[PIECES] + 1):
            if (
                pieces[number, KIND] == SEGMENT
                and pieces[number, NUMBER] == pieces[goal, NUMBER]
                and pieces[number, END] >= 0
                and not pieces[number, TAKEN]
            ):
                if pieces[goal, END] < 0:
                    pieces[goal, END] = pieces[goal, START]
                pieces[number, TAKEN] = 1
                pieces[goal, TAKEN] = 1
                pieces[goal, FIRST] = number
                state[MOVES] += 1
                break


@kernel
def _fill_slot(pieces: Pieces, slot: int) -> None:
    """Take what the host has for this slot; the first slot of a name takes all of it."""
    last = 0
    run = pieces[pieces[slot, ROOT], FIRST]
    while run:
        following = pieces[run, NEXT]
        is_empty = pieces[run, START] >= pieces[run, END]
        if pieces[run, NAME] == pieces[slot, NAME] and not (is_empty or pieces[run, TAKEN]):
            pieces[run, TAKEN] = slot
            if last:
                pieces[last, LAST] = run
            else:
                pieces[slot, FIRST] = run
            last = run
        run = following


def assemble(data: Bytes, pieces: Pieces, count: int) -> Bytes:
    """The markup as a browser has it once everything is in its place."""
    out = np.empty(len(data), np.uint8)
    stack = np.empty((count + 2, 3), np.int64)
    return out[: _assemble(data, pieces, count, out, stack)]


@kernel
def _assemble(data: Bytes, pieces: Pieces, count: int, out: Bytes, stack: Pieces) -> int:
    """Write the assembled markup to `out`; how many bytes.

    Ranges are copied up to the next piece that is cut out; then what comes in its place, then the
    rest. Every segment and run has one place at most, so nothing is copied twice.
    """
    size = 0
    # Of each range that is being copied: where to go on, where it ends, the next piece to look at.
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, len(data), 1
    height = 1
    while height:
        top = height - 1
        at, end, number = stack[top, 0], stack[top, 1], stack[top, 2]
        while number <= count and (pieces[number, START] < at or not _is_cut(pieces, number)):
            number += 1
        stop = pieces[number, START] if number <= count else end
        stop = min(stop, end)
        for place in range(at, stop):
            out[size + place - at] = data[place]
        size += stop - at
        if number > count or pieces[number, START] >= end:
            height -= 1
            continue
        stack[top, 0] = min(pieces[number, END], end)
        stack[top, 2] = number + 1
        height = _push_inserted(pieces, number, stack, height)
    return size


@kernel
def _is_cut(pieces: Pieces, number: int) -> bool:
    """Whether the range of a piece is left out where it stands."""
    kind = pieces[number, KIND]
    if kind == RUN:
        return bool(pieces[number, START] < pieces[number, END])
    if kind == SEGMENT:
        return bool(pieces[number, TAKEN])
    return bool(pieces[number, FIRST]) and kind != SHADOW_ROOT


@kernel
def _push_inserted(pieces: Pieces, number: int, stack: Pieces, height: int) -> int:
    """Put what comes in place of a piece on the stack, the first on top; its height after that."""
    first = height
    inserted = pieces[number, FIRST]
    if pieces[number, KIND] == RUN or pieces[number, KIND] == SEGMENT:
        inserted = 0
    while inserted:
        stack[height, 0] = pieces[inserted, START]
        stack[height, 1] = pieces[inserted, END]
        stack[height, 2] = inserted + 1
        height += 1
        inserted = pieces[inserted, LAST] if pieces[inserted, KIND] == RUN else 0
    low, high = first, height - 1
    while low < high:
        for column in range(3):
            stack[low, column], stack[high, column] = stack[high, column], stack[low, column]
        low, high = low + 1, high - 1
    return height
