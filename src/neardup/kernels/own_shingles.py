"""A page's own text as numbers: its shingles, its heaviest sentences, all of it.

Text is measured in units: a word is two, a character of a script without spaces is one, so that
four words and eight characters are equally long. The number of some tokens is a polynomial in BASE.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.own_text import Weights
from neardup.kernels.shingles import BASE, Hashes, Offsets, mix

Shingles = NDArray[np.uint32]

ONE = np.uint64(1)
AT_ONCE = 512  # shingles that are made together: what that takes stays near the processor


@kernel
def own_shingles(
    tokens: Hashes,
    line_tokens: Offsets,
    documents: Offsets,
    kept: Weights,
    dense: NDArray[np.bool_],
    size: int,
) -> tuple[NDArray[np.uint32], Offsets, Hashes]:
    """`(shingles, document_shingles, texts)`: at each token of the kept lines the number of the
    tokens from there that make `size` units, as far as there are so many (a shorter one takes
    what is left when none has reached the end); and one number for the whole own text.

    The number of some tokens is a polynomial in BASE with a 1 before all.
    """
    documents_count = len(documents) - 1
    shingles = np.empty(len(tokens), np.uint32)
    places = np.zeros(documents_count + 1, np.int64)
    texts = np.zeros(documents_count, np.uint64)
    room = _most_tokens(line_tokens, documents)
    powers = _powers(max(room, size))
    own, units = np.empty(room, np.uint64), np.empty(room, np.uint8)
    values, spare = np.empty(AT_ONCE + size, np.uint64), np.empty(AT_ONCE + size, np.uint64)
    filled = 0
    for document in range(documents_count):
        lines = documents[document], documents[document + 1]
        unit = _unit_of_all(line_tokens, kept, dense, *lines)
        if unit:
            text = tokens[line_tokens[lines[0]] : line_tokens[lines[1]]]
        else:
            count, unit = _copy_kept(tokens, line_tokens, kept, dense, *lines, own, units)
            text = own[:count]
        texts[document] = _text_number(text, powers)
        if unit:
            window = min(-(-size // unit), len(text))
            made = min(len(text) - window + 1, len(text))
            for first in range(0, made, AT_ONCE):
                last = min(first + AT_ONCE, made)
                some = text[first : last + window - 1]
                numbers = _polynomials(some, window, powers, values, spare)
                _write_shingles(numbers, powers[window], shingles[filled + first : filled + last])
        else:
            made = _mixed_shingles(text, units[: len(text)], size, powers, shingles[filled:])
        filled += made
        places[document + 1] = filled
    return shingles[:filled], places, texts


@kernel
def _most_tokens(piece_tokens: Offsets, places: Offsets) -> int:
    """The most that the pieces from one place to the next have."""
    most = 0
    for place in range(len(places) - 1):
        first, last = places[place], places[place + 1]
        most = max(most, piece_tokens[last] - piece_tokens[first])
    return most


@kernel
def _unit_of_all(
    line_tokens: Offsets, kept: Weights, dense: NDArray[np.bool_], first: int, last: int
) -> int:
    """The units of each token of some lines, if all that have tokens are kept and it is the same
    for all; 0 otherwise."""
    unit = 0
    for line in range(first, last):
        if line_tokens[line + 1] > line_tokens[line]:
            of_line = 1 if dense[line] else 2
            if kept[line] <= 0.0 or unit not in (0, of_line):
                return 0
            unit = of_line
    return unit


@kernel
def _copy_kept(
    tokens: Hashes,
    line_tokens: Offsets,
    kept: Weights,
    dense: NDArray[np.bool_],
    first: int,
    last: int,
    own: Hashes,
    units: NDArray[np.uint8],
) -> tuple[int, int]:
    """Copy the tokens of the lines that are kept, with their units; how many, and the units of
    every one, or 0 where they differ."""
    count, unit = 0, 0
    for line in range(first, last):
        if kept[line] > 0.0:
            of_line = 1 if dense[line] else 2
            unit = of_line if count == 0 or unit == of_line else 0
            some = tokens[line_tokens[line] : line_tokens[line + 1]]
            _copy(some, own[count:], of_line, units[count:])
            count += len(some)
    return count, unit


@kernel
def _copy(tokens: Hashes, own: Hashes, unit: int, units: NDArray[np.uint8]) -> None:
    for at in range(len(tokens)):  # the compiler makes vector operations of it
        own[at] = tokens[at]
    for at in range(len(tokens)):
        units[at] = unit


@kernel
def _powers(highest: int) -> Hashes:
    powers = np.ones(highest + 1, np.uint64)
    for step in range(highest):
        powers[step + 1] = powers[step] * BASE
    return powers


@kernel
def _text_number(tokens: Hashes, powers: Hashes) -> np.uint64:
    """One number for a whole text: a polynomial whose last token is of the highest power."""
    value = powers[len(tokens)]
    for place in range(len(tokens)):  # the compiler makes vector operations of it
        value += tokens[place] * powers[place]
    return mix(value)


@kernel
def _polynomials(
    tokens: Hashes, window: int, powers: Hashes, values: Hashes, spare: Hashes
) -> Hashes:
    """The polynomials of all runs of `window` tokens, at least one: those of runs twice as long
    from those of two neighbours, as often as it takes."""
    bit, width = 1, 1
    while 2 * bit <= window:
        bit *= 2
    numbers = tokens
    while width < window:
        bit //= 2
        _joined(numbers, powers[width], numbers[width : len(tokens) - width + 1], values)
        numbers, values, spare = values, spare, values
        width *= 2
        if window & bit:
            _joined(numbers, BASE, tokens[width:], numbers)
            width += 1
    return numbers


@kernel
def _joined(firsts: Hashes, power: np.uint64, lasts: Hashes, joined: Hashes) -> None:
    for at in range(len(lasts)):  # the compiler makes vector operations of it
        joined[at] = firsts[at] * power + lasts[at]


@kernel
def _write_shingles(numbers: Hashes, leading: np.uint64, shingles: Shingles) -> None:
    for at in range(len(shingles)):  # the compiler makes vector operations of it
        shingles[at] = _shingle(numbers[at] + leading)


@kernel
def _mixed_shingles(
    tokens: Hashes,
    units: NDArray[np.uint8],
    size: int,
    powers: Hashes,
    shingles: Shingles,
) -> int:
    """Those of words here and characters there; how many there are.

    The polynomial of tokens a to b is that of the first b less that of the first a, in as many
    powers more.
    """
    prefixes = np.zeros(len(tokens) + 1, np.uint64)
    for at in range(len(tokens)):
        prefixes[at + 1] = prefixes[at] * BASE + tokens[at]
    total, ahead, reached = 0, 0, 0  # units and end of the shingle, and the end of the one before
    for at in range(len(units)):
        while ahead < len(units) and total < size:
            total += int(units[ahead])
            ahead += 1
        if total < size and at > 0 and reached == len(units):
            return at
        reached = ahead
        value = prefixes[ahead] + (ONE - prefixes[at]) * powers[ahead - at]
        shingles[at] = _shingle(value)
        total -= int(units[at])
    return len(units)


@kernel
def _shingle(value: np.uint64) -> np.uint32:
    return np.uint32(mix(value) >> np.uint64(32)) | np.uint32(1)


@kernel
def heaviest_sentences(
    tokens: Hashes,
    piece_tokens: Offsets,
    line_pieces: Offsets,
    documents: Offsets,
    kept: Weights,
    dense: NDArray[np.bool_],
    most: int,
    least_units: int,
) -> tuple[Hashes, Offsets]:
    """Numbers of the `most` heaviest sentences of each own text, heaviest first, then as they
    stand; sentences shorter than `least_units` tell nothing.
    """
    numbers = np.empty((len(documents) - 1) * most, np.uint64)
    places = np.zeros(len(documents), np.int64)
    masses, chosen = np.empty(most), np.empty(most, np.int64)
    powers = _powers(_most_tokens(piece_tokens, line_pieces))
    filled = 0
    for document in range(len(documents) - 1):
        count = 0
        for line in range(documents[document], documents[document + 1]):
            if kept[line] <= 0.0 or most == 0:
                continue
            unit = 1 if dense[line] else 2
            first, last = line_pieces[line], line_pieces[line + 1]
            units = unit * (piece_tokens[last] - piece_tokens[first])
            if units < least_units or (count == most and kept[line] * units <= masses[most - 1]):
                continue  # no sentence of the line weighs more than all of it
            for piece in range(first, last):
                units = unit * (piece_tokens[piece + 1] - piece_tokens[piece])
                mass = kept[line] * units
                if units < least_units or (count == most and mass <= masses[most - 1]):
                    continue
                count = min(count + 1, most)
                at = count - 1
                while at > 0 and masses[at - 1] < mass:
                    chosen[at] = chosen[at - 1]
                    masses[at] = masses[at - 1]
                    at -= 1
                chosen[at] = piece
                masses[at] = mass
        for piece in chosen[:count]:
            sentence = tokens[piece_tokens[piece] : piece_tokens[piece + 1]]
            numbers[filled] = _text_number(sentence, powers)
            filled += 1
        places[document + 1] = filled
    return numbers[:filled], places
