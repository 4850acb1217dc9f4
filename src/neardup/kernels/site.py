"""What the pages of a site repeat: keys to count by, and a table to look counts up in.

A site is a host, and also all pages that have mostly the same furniture (links, menus, footers):
one theme on many hosts, or one of several templates on a host. Pages with the same furniture share
a furniture key with the chance of min-wise sampling: `BANDS` keys of `ROWS` samples each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel
from neardup.kernels.key_order import in_order_of_keys
from neardup.kernels.shingles import BASE, Hashes, Offsets, mix

CountTable = tuple[Hashes, NDArray[np.uint32], Hashes, Offsets]  # bits, starts, keys, counts

BANDS, ROWS = 4, 3
MOST_PROBES = 4  # a slot, over all values of a page; a table that is half full takes less than one
HOST_SALT = np.uint64(0x686F7374)
TITLE_SALT = np.uint64(0x7469746C65)
GREATEST = np.uint64(0xFFFFFFFFFFFFFFFF)
FARTHEST = 256  # from its place in a table that a key is found; hashes are hardly ever so far
BITS_A_KEY = 16  # of those that tell which keys may be wanted, or repeated


@kernel
def furniture_lines(
    regions: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    link_shares: NDArray[np.float32],
    furniture_regions: tuple[int, int],
    button: int,
    mostly: float,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """`(menus, furniture)`: the lines in two regions, and buttons; and those with lines that are
    `mostly` links."""
    menus, furniture = np.empty((2, len(regions)), np.bool_)
    one, other = furniture_regions
    for line in range(len(regions)):  # the compiler makes vector operations of it
        is_menu = (regions[line] == one) | (regions[line] == other) | (kinds[line] == button)
        menus[line] = is_menu
        furniture[line] = is_menu | (link_shares[line] >= mostly)
    return menus, furniture


@kernel
def furniture_keys(
    lines: Hashes, documents: Offsets, furniture: NDArray[np.bool_], least: int
) -> Hashes:
    """`BANDS` keys per document from the lines that are furniture; zeros for one with fewer than
    `least` of them. Repeated lines change nothing.
    """
    keys = np.zeros((len(documents) - 1, BANDS), np.uint64)
    samples = np.empty(BANDS * ROWS, np.uint64)
    seen = np.empty(min(least, len(lines)), np.uint64)
    for document in range(len(keys)):
        samples[:] = GREATEST
        count = 0  # of different lines, as far as `least`
        for line in range(documents[document], documents[document + 1]):
            if furniture[line]:
                if count < least and lines[line] not in seen[:count]:
                    seen[count] = lines[line]
                    count += 1
                for which in range(len(samples)):
                    value = mix(lines[line] ^ (BASE * np.uint64(which + 1)))
                    samples[which] = min(samples[which], value)
        if count < least:
            continue
        for band in range(BANDS):
            value = np.uint64(band + 1)
            for row in range(ROWS):
                value = mix(value * BASE + samples[band * ROWS + row])
            keys[document, band] = value | np.uint64(1)
    return keys


@kernel
def line_key(site: np.uint64, line: np.uint64) -> np.uint64:
    """The key under which a line of a site is counted."""
    return mix(site * BASE + line)


@kernel
def host_keys(hosts: Hashes) -> Hashes:
    """The key under which the pages of each host are counted; 0 for no host."""
    keys = np.zeros(len(hosts), np.uint64)
    for document in range(len(hosts)):
        if hosts[document]:
            keys[document] = mix(hosts[document] ^ HOST_SALT)
    return keys


@kernel
def title_keys(hosts: Hashes, titles: Hashes) -> Hashes:
    """The key under which the pages of a host with a title are counted; 0 without either."""
    keys = np.zeros(len(hosts), np.uint64)
    for document in range(len(hosts)):
        if hosts[document] and titles[document]:
            keys[document] = line_key(mix(hosts[document] ^ TITLE_SALT), titles[document])
    return keys


@kernel
def survey_keys(
    lines: Hashes,
    documents: Offsets,
    furniture: NDArray[np.bool_],
    hosts: Hashes,
    sites: Hashes,
) -> Hashes:
    """The keys that the lines of these pages count one for: each line once under its host (0: no
    host), and each line that is not always furniture once under each furniture key.
    """
    keys = np.empty(documents[len(hosts)] * (1 + BANDS), np.uint64)
    most = _most_lines(documents)
    table, firsts = _room_for_firsts(most), np.empty(most, np.int64)
    is_text = np.empty(most, np.bool_)
    filled = 0
    for document in range(len(hosts)):
        here = lines[documents[document] : documents[document + 1]]
        _find_firsts(here, table, firsts)
        is_text[: len(here)] = False
        for place in range(len(here)):
            is_text[firsts[place]] |= not furniture[documents[document] + place]
        for place in range(len(here)):
            if firsts[place] != place:
                continue
            if hosts[document]:
                keys[filled] = line_key(hosts[document], here[place])
                filled += 1
            for band in range(BANDS):
                if sites[document, band] and is_text[place]:
                    keys[filled] = line_key(sites[document, band], here[place])
                    filled += 1
    return keys[:filled]


@kernel
def trace_keys(traces: Hashes, documents: Offsets, hosts: Hashes) -> Hashes:
    """The keys that the traces of lines (`kernels.lines.line_traces`) count one for: each trace of
    a page once under its host (0: no host)."""
    keys = np.empty(traces.size, np.uint64)
    most = _most_lines(documents) * traces.shape[1]
    table, firsts = _room_for_firsts(most), np.empty(most, np.int64)
    here = np.empty(most, np.uint64)
    filled = 0
    for document in range(len(hosts)):
        if not hosts[document]:
            continue
        count = 0
        for line in range(documents[document], documents[document + 1]):
            for trace in traces[line]:
                here[count] = trace
                count += int(trace != 0)
        _find_firsts(here[:count], table, firsts)
        for place in range(count):
            if firsts[place] == place:
                keys[filled] = line_key(hosts[document], here[place])
                filled += 1
    return keys[:filled]


@kernel
def _most_lines(documents: Offsets) -> int:
    """The most that a document has."""
    most = 0
    for document in range(len(documents) - 1):
        most = max(most, documents[document + 1] - documents[document])
    return most


@kernel
def _room_for_firsts(count: int) -> NDArray[np.int32]:
    """Room for the table that `_find_firsts` makes of so many values: a power of two, at least
    twice as many."""
    size = 2
    while size < 2 * count:
        size *= 2
    return np.empty(size, np.int32)


@kernel
def _find_firsts(values: Hashes, room: NDArray[np.int32], firsts: Offsets) -> None:
    """For each value the place of the first that equals it.

    A hash table of places (-1: free) that is probed in a row. Values are hashes, so their lowest
    bits spread them over the table; a page has few, and its table stays near the processor. Who
    writes lines whose hashes meet in the table gets them sorted.
    """
    size = 2
    while size < 2 * len(values):
        size *= 2
    table, last = room[:size], np.uint64(size - 1)
    table[:] = -1
    probes_left = MOST_PROBES * size
    for place in range(len(values)):
        slot = values[place] & last
        while table[slot] >= 0 and values[table[slot]] != values[place]:
            slot = (slot + np.uint64(1)) & last
            probes_left -= 1
        if probes_left < 0:
            _sort_firsts(values, firsts)
            return
        if table[slot] < 0:
            table[slot] = place
        firsts[place] = table[slot]


@kernel
def _sort_firsts(values: Hashes, firsts: Offsets) -> None:
    """What `_find_firsts` finds, whatever the values are."""
    order = np.argsort(values, kind="mergesort")
    first = 0
    for position in range(len(order)):
        if position == 0 or values[order[position]] != values[order[position - 1]]:
            first = order[position]
        firsts[order[position]] = first


@kernel
def page_keys(
    lines: Hashes,
    documents: Offsets,
    furniture: NDArray[np.bool_],
    traces: Hashes,
    traced: Offsets,
    hosts: Hashes,
    titles: Hashes,
    sites: Hashes,
) -> tuple[Hashes, Offsets]:
    """All keys that each page counts one for, and where those of each start: its host, its title
    there, its lines, and the traces of lines, which start at `traced` for each page."""
    pages = len(hosts)
    starts = np.zeros(pages + 1, np.int64)
    keys = np.empty(2 * pages + len(lines) * (1 + BANDS) + traces.size, np.uint64)
    heads = np.column_stack((host_keys(hosts), title_keys(hosts, titles)))
    filled = 0
    for page in range(pages):
        own, here = slice(page, page + 1), slice(documents[page], documents[page + 1])
        for key in heads[page]:
            if key:
                keys[filled] = key
                filled += 1
        every_line = np.array([0, here.stop - here.start])
        of_lines = survey_keys(lines[here], every_line, furniture[here], hosts[own], sites[own])
        every_trace = np.array([0, traced[page + 1] - traced[page]])
        of_traces = trace_keys(traces[traced[page] : traced[page + 1]], every_trace, hosts[own])
        for some in (of_lines, of_traces):
            keys[filled : filled + len(some)] = some
            filled += len(some)
        starts[page + 1] = filled
    return keys[:filled], starts


@kernel
def count_on_sites(
    lines: Hashes,
    documents: Offsets,
    furniture: NDArray[np.bool_],
    traces: Hashes,
    traced: Offsets,
    hosts: Hashes,
    titles: Hashes,
    sites: Hashes,
    others: Hashes,
) -> tuple[Hashes, Offsets, CountTable]:
    """`page_keys` of some pages, and the counts of what they will look up among these keys and
    those of other pages: every line may be furniture on one page and text on another."""
    keys, starts = page_keys(lines, documents, furniture, traces, traced, hosts, titles, sites)
    no = np.zeros_like(furniture)
    wanted, _ = page_keys(lines, documents, no, traces, traced, hosts, titles, sites)
    every = np.empty(len(keys) + len(others), np.uint64)
    every[: len(keys)] = keys
    every[len(keys) :] = others
    several, counts = counts_among(wanted, every)
    return keys, starts, count_table(several, counts)


@kernel
def counts_among(wanted: Hashes, keys: Hashes) -> tuple[Hashes, Offsets]:
    """Those of the wanted keys that stand among `keys` more than once, in order, and how often.
    A wanted key may be repeated.

    Keys are hashes, and 0 is none. Bits tell which may be wanted and which may be repeated: these
    are small enough for the cache, and choosing by them takes no branch that could be guessed
    wrongly. What is left is counted in a table. Whoever writes lines whose keys meet in the table
    gets all keys sorted.
    """
    near = _with_bit(keys, _bits_of(wanted))
    again = _bits_of_repeated(near)
    repeated = _with_bit(wanted, again)
    size = _at_least(2 * len(repeated))
    last = np.uint64(size - 1)
    table, counts = np.zeros(size, np.uint64), np.zeros(size, np.int64)
    for key in repeated:
        at = _place_of(key, table, last)
        if (at - key) & last > FARTHEST:
            return _sorted_counts(wanted, keys)
        table[at] = key
    for key in _with_bit(near, again):
        counts[_place_of(key, table, last)] += 1  # those of a free place are nobody's
    several = np.flatnonzero((counts > 1) & (table != 0))
    return in_order_of_keys(table[several], counts[several])


@kernel
def _bits_of(keys: Hashes) -> Hashes:
    """Bits that are set for every key, and for few others."""
    bits = np.zeros(_at_least(BITS_A_KEY * len(keys)) // 64, np.uint64)
    for key in keys:
        word, bit = _word_and_bit(key, bits)
        bits[word] |= bit
    return bits


@kernel
def _bits_of_repeated(keys: Hashes) -> Hashes:
    """Bits that are set for every key that stands there twice, and for few others."""
    once = np.zeros(_at_least(BITS_A_KEY * len(keys)) // 64, np.uint64)
    again = np.zeros_like(once)
    for key in keys:
        word, bit = _word_and_bit(key, once)
        again[word] |= once[word] & bit
        once[word] |= bit
    return again


@kernel
def _with_bit(keys: Hashes, bits: Hashes) -> Hashes:
    """The keys whose bit is set."""
    chosen, count = np.empty(len(keys) + 1, np.uint64), 0
    for key in keys:
        word, bit = _word_and_bit(key, bits)
        chosen[count] = key
        count += (bits[word] & bit) != 0
    return chosen[:count]


@kernel
def _word_and_bit(key: np.uint64, bits: Hashes) -> tuple[np.uint64, np.uint64]:
    """Where the bit of a key is among so many; tables use the other end of the key."""
    place = (key >> np.uint64(32)) & np.uint64(64 * len(bits) - 1)
    return place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63))


@kernel
def _at_least(number: int) -> int:
    """A power of two that is as large, and 64 or more."""
    size = 64
    while size < number:
        size *= 2
    return size


@kernel
def _sorted_counts(wanted: Hashes, keys: Hashes) -> tuple[Hashes, Offsets]:
    """What `counts_among` finds, whatever the keys are."""
    wanted = wanted[np.argsort(wanted, kind="mergesort")]
    keys = keys[np.argsort(keys, kind="mergesort")]
    found, counts, filled = np.empty_like(wanted), np.empty(len(wanted), np.int64), 0
    for place in range(len(wanted)):
        if place and wanted[place] == wanted[place - 1]:
            continue
        first = np.searchsorted(keys, wanted[place])
        count = np.searchsorted(keys, wanted[place], "right") - first
        if count > 1:
            found[filled], counts[filled] = wanted[place], count
            filled += 1
    return found[:filled], counts[:filled]


@kernel
def _place_of(key: np.uint64, table: Hashes, last: np.uint64) -> np.uint64:
    """Where a key is in a table of keys, or the free place for it."""
    at = key & last
    while table[at] != key and table[at]:
        at = (at + np.uint64(1)) & last
    return at


@kernel
def trace_counts(
    traces: Hashes,
    documents: Offsets,
    hosts: Hashes,
    on_hosts: Offsets,
    bits: Hashes,
    starts: NDArray[np.uint32],
    keys: Hashes,
    key_counts: Offsets,
) -> Offsets:
    """On how many pages of its host each line stands as it is or with a few words changed: as many
    as share the most frequent of its traces. 1 for a line without traces."""
    counts = np.ones(len(traces), np.int64)
    if len(keys) == 0 or len(traces) == 0:
        return counts
    most = _most_lines(documents) * traces.shape[1]
    room, here = np.empty((3, most), np.uint64), np.empty(most, np.uint64)
    lines, of_traces = np.empty(most, np.int64), np.empty(most, np.int64)
    for document in range(len(hosts)):
        if on_hosts[document] < 2:
            continue
        filled = 0
        for line in range(documents[document], documents[document + 1]):
            for trace in traces[line]:
                if trace:
                    here[filled], lines[filled], of_traces[filled] = trace, line, 1
                    filled += 1
        _take_counts(
            hosts[document], here[:filled], bits, starts, keys, key_counts, room, of_traces[:filled]
        )
        for place in range(filled):
            counts[lines[place]] = max(counts[lines[place]], of_traces[place])
    return counts


@kernel
def line_counts(
    lines: Hashes,
    documents: Offsets,
    hosts: Hashes,
    on_hosts: Offsets,
    sites: Hashes,
    few_pages: int,
    bits: Hashes,
    starts: NDArray[np.uint32],
    keys: Hashes,
    key_counts: Offsets,
) -> Offsets:
    """On how many pages of its site each line stands: of the host, or, where the host has fewer
    than `few_pages` pages, of the host or the pages with the same furniture, whichever is more.
    `on_hosts` is how many pages the host of each page has.
    """
    counts = np.ones(len(lines), np.int64)
    if len(keys) == 0:
        return counts
    room = np.empty((3, _most_lines(documents)), np.uint64)
    for document in range(len(hosts)):
        begin, end = documents[document], documents[document + 1]
        here, host = lines[begin:end], hosts[document]
        found = counts[begin:end]
        if on_hosts[document] > 1:
            _take_counts(host, here, bits, starts, keys, key_counts, room, found)
        if on_hosts[document] >= few_pages:
            continue
        for site in sites[document]:
            if site:
                _take_counts(site, here, bits, starts, keys, key_counts, room, found)
    return counts


@kernel
def counts_of(
    wanted: Hashes,
    bits: Hashes,
    starts: NDArray[np.uint32],
    keys: Hashes,
    key_counts: Offsets,
) -> Offsets:
    """The count of each key; 1 for 0."""
    counts = np.ones(len(wanted), np.int64)
    for place in range(len(wanted)):
        if wanted[place] and len(keys):
            counts[place] = look_up(bits, starts, keys, key_counts, wanted[place])
    return counts


@kernel
def _take_counts(
    site: np.uint64,
    lines: Hashes,
    bits: Hashes,
    starts: NDArray[np.uint32],
    keys: Hashes,
    key_counts: Offsets,
    room: Hashes,
    counts: Offsets,
) -> None:
    """The counts of lines of a site, where they are more than those that stand there.

    Most lines have no count, and their bits say so, in less memory than the keys are in and without
    a branch that could be guessed wrongly. For the others all places are read before the first is
    looked at, so that the memory does not wait for the comparisons. There is a key at least.
    """
    wanted, of_line, first = room[0], room[1], room[2]
    found = 0
    for line in range(len(lines)):
        key = line_key(site, lines[line])
        word, bit = _word_and_bit(key, bits)
        wanted[found], of_line[found] = key, line
        found += (bits[word] & bit) != 0
    for at in range(found):
        first[at] = starts[_range(wanted[at], len(starts) - 1)]
    last = np.uint64(len(keys) - 1)
    for at in range(found):  # the keys of a range are in order: few are more than two steps away
        place = min(first[at], last)
        place = min(place + np.uint64(keys[place] < wanted[at]), last)
        first[at] = min(place + np.uint64(keys[place] < wanted[at]), last)
    for at in range(found):
        place = first[at]
        while place < last and keys[place] < wanted[at]:
            place += np.uint64(1)
        if keys[place] == wanted[at]:
            line = of_line[at]
            counts[line] = max(counts[line], key_counts[place])


@kernel
def count_table(keys: Hashes, counts: Offsets) -> CountTable:
    """A table of counts by key, from keys in order: bits that tell which keys may be there, and
    where the keys of each of equal ranges start.

    There are as many ranges as keys. Keys are hashes, so a range holds about one.
    """
    ranges = max(len(keys), 1)
    starts = np.zeros(ranges + 1, np.uint32)
    for number in range(len(keys)):
        starts[_range(keys[number], ranges) + 1] += np.uint32(1)
    for number in range(ranges):
        starts[number + 1] += starts[number]
    return _bits_of(keys), starts, keys, counts


@kernel
def look_up(
    bits: Hashes,
    starts: NDArray[np.uint32],
    keys: Hashes,
    counts: Offsets,
    key: np.uint64,
) -> int:
    """The count of a key; 1 for one that is not in the table."""
    word, bit = _word_and_bit(key, bits)
    if bits[word] & bit:
        number = _range(key, len(starts) - 1)
        for at in range(starts[number], starts[number + 1]):
            if keys[at] == key:
                return int(counts[at])
    return 1


@kernel
def _range(key: np.uint64, ranges: int) -> int:
    return int(((key >> np.uint64(32)) * np.uint64(ranges)) >> np.uint64(32))
