# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""The scanner: from the UTF-8 bytes of HTML to text in blocks, in one pass and without a tree.

It follows HTML's tokeniser, and of its tree construction what matters for text: which elements
are open (`scan_tree`), for what is hidden, preformatted, linked, and what kind a block is. See
docs/decisions/0002-scanner.md for what it leaves out on purpose.
"""

from __future__ import annotations

from threading import local
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels import scan_assembly, scan_meta
from neardup.kernels import scan_tags as t
from neardup.kernels.jit import borrowing_kernel as kernel
from neardup.kernels.jit import inlined_kernel
from neardup.kernels.scan_assembly import Pieces
from neardup.kernels.scan_attributes import (
    COMMENTS,
    DATED,
    OPEN,
    OVERLAY,
    SELF_CLOSING,
    find_attribute,
    read_attributes,
    read_usual_attributes,
)
from neardup.kernels.scan_attributes import REGION_SHIFT as ROLE_SHIFT
from neardup.kernels.scan_bytes import BANG, GREATER, SLASH, Bytes, find, hash_of, is_letter
from neardup.kernels.scan_styles import HIDDEN
from neardup.kernels.scan_tags import (
    LESS,
    after_bogus_comment,
    after_markup_declaration,
    find_end_tag,
)
from neardup.kernels.scan_text import (
    ANCHORS,
    BLOCK_START,
    BLOCKS,
    BOUNDARY_AT,
    CONTEXT,
    DEPTH,
    FOREIGN,
    IMAGES,
    INNERMOST,
    KIND_MASK,
    KIND_SHIFT,
    LINK_START,
    LOWEST,
    MARK_REGION_SHIFT,
    PIECES,
    POSITION,
    PREFORMATTED,
    REGION_MASK,
    REGION_SHIFT,
    REVEALED,
    SCRIPTS,
    SHARE_SHIFT,
    SKIPPED,
    STATE_SIZE,
    TABLES,
    WATCHED,
    WHOLE,
    Marks,
    State,
    end_block,
    enter_link,
    write_attribute,
    write_character,
    write_literal,
    write_reference,
    write_text,
)
from neardup.kernels.scan_tree import (
    FLAGS,
    FRAME_SIZE,
    MAX_DEPTH,
    Frames,
    close_element,
    close_implied,
    leave_foreign,
    pop_to,
    push,
)

QUESTION, AMPERSAND = 63, 38
_ALT = np.uint64(hash_of("alt"))


class Scan(NamedTuple):
    """The text and blocks of a batch of pages."""

    text: Bytes  # one line per block, pages end to end
    text_ends: NDArray[np.int64]  # page p is text[text_ends[p]:text_ends[p + 1]]
    kinds: Bytes  # of each block, as the next two
    regions: Bytes
    link_shares: NDArray[np.float32]
    block_ends: NDArray[np.int64]  # as text_ends, among the blocks
    counts: NDArray[np.int64]  # of each page: tables, images, anchors
    places: NDArray[np.int64]  # by page and kind of scan_meta: start and end in the page's bytes


_of_thread = local()


def _room() -> tuple[Frames, Pieces]:
    """Open elements and pieces of a page, numbered from 1. Nothing of a page is left for the next,
    so a thread makes them once: for a page that comes alone that takes as long as to scan it."""
    if not hasattr(_of_thread, "room"):
        _of_thread.room = (
            np.zeros((MAX_DEPTH + 1, FRAME_SIZE), np.int32),
            np.empty((scan_assembly.MAX_PIECES + 1, scan_assembly.PIECE_SIZE), np.int64),
        )
    room: tuple[Frames, Pieces] = _of_thread.room
    return room


class Scanner:
    """Scans page after page into arrays that it owns; one per thread and batch."""

    def __init__(self, pages: int, size: int) -> None:
        """Room for `pages` pages of `size` bytes in all."""
        # A reference never grows by more than `&nGt;` does, 5 bytes to 6; a page's last block ends
        # in a newline that has no source. A block takes two bytes at least.
        room = size + size // 5 + pages + 1
        self.text = np.empty(room, np.uint8)
        self.marks = np.empty(room // 2 + 1, np.uint32)
        self.frames, self.pieces = _room()
        self.state = np.zeros(STATE_SIZE, np.int64)
        self.ends = np.zeros((pages + 1, 2), np.int64)
        self.counts = np.zeros((pages, 3), np.int64)
        self.places = np.zeros((pages, scan_meta.KINDS, 2), np.int64)
        self.page = 0

    def scan(self, data: Bytes, *, html: bool, alt_texts: bool = False) -> None:
        """The next page; `data` is valid UTF-8."""
        is_apart = self._scan(data, html, alt_texts, self.places[self.page], assembled=False)
        if is_apart:
            # What the page says about itself was noted above, where it stands in `data`.
            elsewhere = np.zeros_like(self.places[self.page])
            data = scan_assembly.assemble(data, self.pieces, self.state[PIECES])
            self._scan(data, html, alt_texts, elsewhere, assembled=True)
        self.page += 1

    def scan_pages(
        self,
        data: Bytes,
        ends: NDArray[np.int64],
        is_html: NDArray[np.bool_],
        *,
        alt_texts: bool = False,
    ) -> bool:
        """Scan data[ends[p]:ends[p + 1]] from the next page on, up to the last or to one that needs
        a look.

        That is a page that states the text of an article (`scan_meta.LD_BODY`). It is scanned, and
        whether that text is to take the place of its own is for the caller to decide. False at the
        end.
        """
        while self.page < len(is_html):
            page, is_apart = scan_pages(
                data,
                ends,
                is_html,
                self.page,
                alt_texts,
                self.text,
                self.marks,
                self.frames,
                self.pieces,
                self.state,
                self.places,
                self.counts,
                self.ends,
            )
            self.page = page
            if page == len(is_html):
                return False
            if is_apart:
                self.scan(data[ends[page] : ends[page + 1]], html=True, alt_texts=alt_texts)
            else:
                self.page += 1
            start, end = self.places[page, scan_meta.LD_BODY]
            if start < end:
                return True
        return False

    def last_text(self) -> bytes:
        """The text of the page scanned last."""
        start, end = self.ends[self.page - 1 : self.page + 1, 0]
        return self.text[start:end].tobytes()

    def rescan(self, data: Bytes, *, html: bool) -> None:
        """Take `data` in place of the text of the page scanned last, which is at least as long."""
        self.page -= 1
        self.state[POSITION], self.state[BLOCKS] = self.ends[self.page]
        elsewhere = np.zeros_like(self.places[self.page])
        self._scan(data, html, False, elsewhere, assembled=True)
        self.page += 1

    def _scan(
        self,
        data: Bytes,
        html: bool,
        alt_texts: bool,
        places: NDArray[np.int64],
        *,
        assembled: bool,
    ) -> bool:
        return scan_page(
            data,
            html,
            alt_texts,
            assembled,
            self.text,
            self.marks,
            self.frames,
            self.pieces,
            self.state,
            places,
            self.counts[self.page],
            self.ends[self.page + 1],
        )

    def result(self) -> Scan:
        """All pages, in arrays of their own size; nothing can be scanned after that."""
        ends = self.ends[: self.page + 1]
        text_end, block_end = ends[-1]
        self.text.resize(text_end, refcheck=False)  # gives the rest of the room back, in place
        kinds, regions = np.empty(block_end, np.uint8), np.empty(block_end, np.uint8)
        link_shares = np.empty(block_end, np.float32)
        _read_marks(self.marks[:block_end], kinds, regions, link_shares)
        return Scan(
            self.text,
            ends[:, 0].copy(),
            kinds,
            regions,
            link_shares,
            ends[:, 1].copy(),
            self.counts[: self.page],
            self.places[: self.page],
        )


@kernel
def _read_marks(
    marks: Marks,
    kinds: NDArray[np.uint8],
    regions: NDArray[np.uint8],
    link_shares: NDArray[np.float32],
) -> None:
    """Write kind, region and link share of each block."""
    for block in range(len(marks)):  # the compiler makes vector operations of it
        mark = marks[block]
        kinds[block] = mark & np.uint32(KIND_MASK)
        regions[block] = mark >> np.uint32(MARK_REGION_SHIFT) & np.uint32(REGION_MASK)
        link_shares[block] = np.float32(mark >> np.uint32(SHARE_SHIFT)) / np.float32(WHOLE)


@kernel
def scan_page(
    data: Bytes,
    html: bool,
    alt_texts: bool,
    assembled: bool,
    text: Bytes,
    marks: Marks,
    frames: Frames,
    pieces: Pieces,
    state: State,
    places: NDArray[np.int64],
    counts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> bool:
    """Scan one page, after what `text` and `marks` hold already.

    True if a browser shows parts of it elsewhere than they stand: nothing is written then, and
    `pieces` say how it is to be assembled.
    """
    start, first_block = state[POSITION], state[BLOCKS]
    _begin_page(state, start, first_block)
    if html:
        _scan_html(data, alt_texts, text, marks, frames, pieces, state, places)
        if state[PIECES] and not assembled and scan_assembly.is_to_assemble(state, pieces):
            count = state[PIECES]
            _begin_page(state, start, first_block)
            state[PIECES] = count
            return True
        if state[BLOCKS] == first_block:  # a page that a script uncovers once it has loaded
            _begin_page(state, start, first_block)
            state[REVEALED] = HIDDEN
            _scan_html(data, alt_texts, text, marks, frames, pieces, state, places)
    else:
        state[CONTEXT] = PREFORMATTED
        write_literal(data, 0, len(data), text, marks, state)
        end_block(text, marks, state)
    if state[POSITION] > start:
        state[POSITION] -= 1  # lines are joined by newlines, not ended by them
    counts[0] = state[TABLES]
    counts[1] = state[IMAGES]
    counts[2] = state[ANCHORS]
    ends[0] = state[POSITION]
    ends[1] = state[BLOCKS]
    return False


@kernel
def scan_pages(
    data: Bytes,
    page_ends: NDArray[np.int64],
    is_html: NDArray[np.bool_],
    page: int,
    alt_texts: bool,
    text: Bytes,
    marks: Marks,
    frames: Frames,
    pieces: Pieces,
    state: State,
    places: NDArray[np.int64],
    counts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> tuple[int, bool]:
    """Scan page after page; the page at which it stops, or the number of pages, and whether that
    page is to be assembled first."""
    while page < len(is_html):
        is_apart = scan_page(
            data[page_ends[page] : page_ends[page + 1]],
            is_html[page],
            alt_texts,
            False,
            text,
            marks,
            frames,
            pieces,
            state,
            places[page],
            counts[page],
            ends[page + 1],
        )
        if is_apart or places[page, scan_meta.LD_BODY, 0] < places[page, scan_meta.LD_BODY, 1]:
            return page, is_apart
        page += 1
    return page, False


@kernel
def _begin_page(state: State, position: int, first_block: int) -> None:
    state[:] = 0
    state[POSITION] = position
    state[BLOCK_START] = position
    state[LINK_START] = position
    state[BLOCKS] = first_block
    state[LOWEST] = scan_assembly.NO_DEPTH


@kernel
def _scan_html(
    data: Bytes,
    alt_texts: bool,
    text: Bytes,
    marks: Marks,
    frames: Frames,
    pieces: Pieces,
    state: State,
    places: NDArray[np.int64],
) -> None:
    i, end = 0, len(data)
    while i < end:
        if state[CONTEXT] & SKIPPED:
            i = find(data, i, end, LESS)
        else:
            i = write_text(data, i, end, text, marks, state)
        if i >= end:
            break
        if data[i] == AMPERSAND:
            i = write_reference(data, i, end, text, marks, state)
            continue
        following = data[i + 1] if i + 1 < end else 0
        at = i
        if is_letter(following):
            i = _start_tag(data, i, end, alt_texts, text, marks, frames, pieces, state, places)
            if state[LOWEST] <= state[WATCHED]:
                scan_assembly.close_watched(state, pieces, at, at)
        elif following == SLASH and i + 2 < end:
            i = _end_tag(data, i, end, text, marks, frames, state)
            if state[LOWEST] <= state[WATCHED]:
                scan_assembly.close_watched(state, pieces, at, i)
        elif following == BANG:
            if state[BOUNDARY_AT]:
                scan_assembly.note_comment(data, i, end, state, pieces)
            i = after_markup_declaration(data, i, end, state[CONTEXT] & FOREIGN > 0)
        elif following == QUESTION:
            i = after_bogus_comment(data, i + 1, end)
        else:
            if not state[CONTEXT] & SKIPPED:
                write_character(LESS, text, marks, state)
            i += 1
    pop_to(frames, state, text, marks, 1)
    scan_assembly.close_watched(state, pieces, end, end)
    end_block(text, marks, state)


@inlined_kernel
def _end_tag(
    data: Bytes, i: int, end: int, text: Bytes, marks: Marks, frames: Frames, state: State
) -> int:
    """The end tag at i; the place after it."""
    if not is_letter(data[i + 2]):
        return after_bogus_comment(data, i + 2, end)  # `</>` too
    tag, after_name = t.read_name(data, i + 2, end)
    after = after_name
    if after < end and data[after] != GREATER:
        after, _ = read_attributes(data, after_name, end, False)
    if after >= end:
        return end
    if frames[state[DEPTH], FLAGS] & t.FOREIGN_ELEMENT:
        foreign = t.foreign_number(data, i + 2, after_name, tag)
        if frames[state[INNERMOST + foreign], FLAGS] & t.FOREIGN_ELEMENT:
            tag = foreign
        elif tag == t.P or tag == t.BR:
            leave_foreign(frames, state, text, marks)
    close_element(frames, state, text, marks, tag)
    return after + 1


@inlined_kernel
def _start_tag(
    data: Bytes,
    i: int,
    end: int,
    alt_texts: bool,
    text: Bytes,
    marks: Marks,
    frames: Frames,
    pieces: Pieces,
    state: State,
    places: NDArray[np.int64],
) -> int:
    """The start tag at i and, for elements without markup in them, their content; place after.

    A tag goes through these steps, and each may be its last: svg and math (where most names mean
    nothing), statements about the page, elements that it ends or that make it void of meaning
    here, a new block, void elements, raw text. What is left becomes an open element.
    """
    tag, after_name = t.read_name(data, i + 1, end)
    after, facts = read_usual_attributes(data, after_name, end, t.MAY_BE_PART[tag])
    if after >= end:
        return end  # the page ends within the tag, which is dropped
    facts &= ~state[REVEALED]
    flags = t.FLAGS[tag]
    if facts >> ROLE_SHIFT:
        flags |= t.BLOCK  # a landmark is set apart, whatever element has the role
    if state[CONTEXT] & FOREIGN:
        # HTML that browsers take for a forgotten `</svg>` ends it; all else is part of it.
        if not flags & t.BREAKOUT:
            if not facts & SELF_CLOSING:
                number = t.foreign_number(data, i + 1, after_name, tag)
                _open_foreign(text, marks, frames, state, tag, number)
            return after + 1
        leave_foreign(frames, state, text, marks)
    if scan_meta.MAY_STATE[tag] or facts & DATED:
        scan_meta.note_tag(data, after_name, end, tag, facts, places)
    if flags & t.IGNORED or not close_implied(frames, state, text, marks, tag):
        return after + 1
    if not state[CONTEXT] & SKIPPED:
        if flags & t.BLOCK:
            end_block(text, marks, state)
        _count(state, tag)
    if flags & t.VOID:
        if tag == t.IMG and alt_texts and not (state[CONTEXT] & SKIPPED or facts & HIDDEN):
            start, stop = find_attribute(data, after_name, end, _ALT)
            if start < stop:
                write_attribute(data, start, stop, text, marks, state)
        return after + 1
    if flags & t.RAW:
        return _raw_element(
            data, after_name, after + 1, end, tag, facts, text, marks, pieces, state, places
        )
    if tag == t.A:
        enter_link(state)
    if (
        state[WATCHED]
        or tag == t.TEMPLATE
        or facts & HIDDEN
        or (flags & t.TABLE_PART and state[CONTEXT] & SKIPPED)
    ) and scan_assembly.note_start(
        data, i, after_name, after + 1, end, tag, facts & HIDDEN > 0, frames, state, pieces
    ):
        flags &= ~t.SKIP  # the content of a shadow root is shown
    context = _context_in(state[CONTEXT], tag, flags, facts)
    if flags & t.FOREIGN_ELEMENT and facts & SELF_CLOSING:
        return after + 1  # `<svg/>`; to HTML elements the slash means nothing
    push(frames, state, text, marks, tag, flags, context)
    return after + 1


@inlined_kernel
def _count(state: State, tag: int) -> None:
    if tag == t.A:
        state[ANCHORS] += 1
    elif tag == t.IMG:
        state[IMAGES] += 1
    elif tag == t.TABLE:
        state[TABLES] += 1


@inlined_kernel
def _context_in(context: int, tag: int, flags: int, facts: int) -> int:
    """The context of an element's content, by that of the element."""
    if flags & t.SKIP or facts & HIDDEN or (tag == t.DIALOG and not facts & OPEN):
        context |= SKIPPED
    if tag == t.SVG or tag == t.MATH:
        context |= FOREIGN
    if flags & t.PRE:
        context |= PREFORMATTED
    kind = t.KINDS[tag]
    if kind >= 0:
        outer = (context >> KIND_SHIFT) & KIND_MASK
        if not (kind == t.PARAGRAPH and outer == t.QUOTE):  # a paragraph of a quote is quoted
            context = (context & ~(KIND_MASK << KIND_SHIFT)) | kind << KIND_SHIFT
    region = _region_in((context >> REGION_SHIFT) & REGION_MASK, tag, facts)
    return (context & ~(REGION_MASK << REGION_SHIFT)) | region << REGION_SHIFT


@inlined_kernel
def _region_in(outer: int, tag: int, facts: int) -> int:
    """The region of an element's content, by that of the element, its role and its tag. In the body
    and in articles, names may tell comments and dialogs."""
    region = (facts >> ROLE_SHIFT) - 1
    by_role = region >= 0
    if not by_role:
        region = t.REGIONS[tag]
    in_text = outer <= t.MAIN and region <= t.MAIN
    if in_text and t.MAY_BE_PART[tag] and facts & (COMMENTS | OVERLAY):
        return t.COMMENTS if facts & COMMENTS else t.OVERLAY
    if region < 0:
        return outer
    if outer >= t.COMMENTS and (region <= t.HEADER or region == t.FOOTER):
        return outer  # a comment may be an article, with a header of its own
    if outer == t.MAIN and not by_role and (region == t.HEADER or region == t.FOOTER):
        return t.MAIN  # the header of an article is not that of the site
    return region


@kernel
def _open_foreign(
    text: Bytes, marks: Marks, frames: Frames, state: State, tag: int, number: int
) -> None:
    """A start tag inside svg or math; its element is not that of HTML and has its own number."""
    context = state[CONTEXT]
    if t.INTEGRATION[tag]:
        context &= ~FOREIGN
    push(frames, state, text, marks, number, t.FOREIGN_ELEMENT, context)


@kernel
def _raw_element(
    data: Bytes,
    attributes: int,
    i: int,
    end: int,
    tag: int,
    facts: int,
    text: Bytes,
    marks: Marks,
    pieces: Pieces,
    state: State,
    places: NDArray[np.int64],
) -> int:
    """An element without markup in it, whose content starts at i; the place after its end tag."""
    stop = end
    if tag != t.PLAINTEXT:
        stop = find_end_tag(data, i, end, tag)
    if tag == t.TITLE:
        scan_meta.note_title(data, i, stop, places)
    elif tag == t.SCRIPT:
        if scan_meta.is_linked_data(data, attributes, end):
            scan_meta.note_linked_data(data, i, stop, places)
        else:
            state[SCRIPTS] += 1
            if state[PIECES]:
                scan_assembly.note_calls(data, i, stop, state, pieces)
    elif t.FLAGS[tag] & t.PRE and not (state[CONTEXT] & SKIPPED or facts & HIDDEN):
        outer = state[CONTEXT]
        state[CONTEXT] = _context_in(outer, tag, t.FLAGS[tag], facts)
        write_literal(data, i, stop, text, marks, state)
        end_block(text, marks, state)
        state[CONTEXT] = outer
    if stop >= end:
        return end
    _, after_name = t.read_name(data, stop + 2, end)
    after, _ = read_attributes(data, after_name, end, False)
    return min(after + 1, end)
