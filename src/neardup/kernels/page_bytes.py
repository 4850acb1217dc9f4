# ruff: noqa: PLR1714 - compiled: comparisons, not tuples to search
"""What can be told of the bytes of many pages at once, and which pages need a closer look.

Every function answers the usual case for a whole batch, and marks the pages that are not usual:
`text.charset`, `text.metadata` and `pages.urls` look at those one by one. What is not marked is
exactly what they would have said.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import Bytes, Numbers, borrowing_kernel
from neardup.kernels.scan_bytes import hash_of, look_up, name_hash
from neardup.kernels.text_bits import BLOCK, equal_bits
from neardup.kernels.utf8 import is_sound

Mask = NDArray[np.bool_]
ESCAPE = 27
BOM = 0xEF


def odd_charsets(data: Bytes, ends: Numbers, head: int) -> Mask:
    """Which pages may not be UTF-8 as they stand; page p is data[ends[p]:ends[p + 1]].

    Those with invalid bytes, a byte-order mark, an escape character (ISO-2022-JP) or a NUL among
    the first `head` bytes (UTF-16).
    """
    odd = np.empty(len(ends) - 1, np.bool_)
    _odd_charsets(data, ends, head, odd)
    return odd


@borrowing_kernel
def _odd_charsets(data: Bytes, ends: Numbers, head: int, odd: Mask) -> None:
    for page in range(len(odd)):
        start, end = ends[page], ends[page + 1]
        odd[page] = (
            (start < end and data[start] == BOM)
            or _holds(data, start, end, np.uint8(ESCAPE))
            or _holds(data, start, min(end, start + head), np.uint8(0))
            or not is_sound(data, start, end)
        )


@borrowing_kernel
def _holds(data: Bytes, at: int, end: int, byte: np.uint8) -> bool:
    """Whether any byte of data[at:end] is this one."""
    while at + BLOCK <= end:
        if equal_bits(data, at, byte):
            return True
        at += BLOCK
    while at < end and data[at] != byte:
        at += 1
    return at < end


# Statements


class Statements(NamedTuple):
    """One kind of statement of each page, as a column of texts; those of odd pages are empty."""

    text: Bytes
    ends: Numbers
    odd: Mask


def plain_statements(
    data: Bytes, ends: Numbers, places: NDArray[np.int64], kind: int, longest: int
) -> Statements:
    """What the pages state at `places[:, kind]`, where it is one line of printable text already.

    Odd are those with references, controls, runs of white space or white space beyond ASCII, and
    those of more than `longest` bytes.
    """
    pages = len(ends) - 1
    sizes = places[:, kind, 1] - places[:, kind, 0]
    made = Statements(
        np.empty(int(sizes.sum()), np.uint8), np.zeros(pages + 1, np.int64), np.empty(pages, bool)
    )
    _plain_statements(data, ends, places, kind, longest, *made)
    return made._replace(text=made.text[: made.ends[-1]])


@borrowing_kernel
def _plain_statements(
    data: Bytes,
    ends: Numbers,
    places: NDArray[np.int64],
    kind: int,
    longest: int,
    text: Bytes,
    text_ends: Numbers,
    odd: Mask,
) -> None:
    to = 0
    for page in range(len(odd)):
        start = ends[page] + places[page, kind, 0]
        end = ends[page] + places[page, kind, 1]
        odd[page] = end - start > longest or not _is_plain_line(data, start, end)
        if not odd[page]:
            source, target = np.uint64(start), np.uint64(to)
            for place in range(np.uint64(end - start)):
                text[target + place] = data[source + place]
            to += end - start
        text_ends[page + 1] = to


@borrowing_kernel
def _is_plain_line(data: Bytes, at: int, end: int) -> bool:
    """Printable text with single spaces between words.

    White space and controls beyond ASCII begin with the bytes C2, E1, E2 or E3 80 80; of these
    only C2 A1 to C2 BF and E3 with another ending are told from others here.
    """
    if at == end:
        return True
    before = 32  # white space at the beginning is odd, as it is after a space
    while at < end:
        byte = int(data[at])
        if byte < 32 or byte == 38 or byte == 127 or (byte == 32 and before == 32):
            return False
        if byte == 0xC2 and (at + 1 >= end or data[at + 1] <= 0xA0):
            return False
        if byte == 0xE1 or byte == 0xE2:
            return False
        if byte == 0xE3 and (at + 2 >= end or (data[at + 1] == 0x80 and data[at + 2] == 0x80)):
            return False
        before = byte
        at += 1
    return before != 32


# Addresses

WEB, SECURE_WEB = b"http://", b"https://"
_WEB = np.frombuffer(WEB, np.uint8).copy()
_HOST = np.zeros(256, np.bool_)
_HOST[list(b"abcdefghijklmnopqrstuvwxyz0123456789.-")] = True
_PATH = np.zeros(256, np.bool_)
_PATH[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_~,:=@!$&'()*+.-")] = (
    True
)
SLASH, DOT, QUESTION, AMPERSAND, EQUALS, SMALL_S = 47, 46, 63, 38, 61, 115


HashTable = tuple[NDArray[np.uint64], NDArray[np.int64]]  # of `scan_bytes.hash_table`


class AddressTables(NamedTuple):
    """What makes an address odd."""

    index_files: HashTable  # file names that stand for their folder
    noise: HashTable  # parameters that may have to go
    prefixes: NDArray[np.uint64]  # of parameters that have to go: `prefix_keys`


class Addresses(NamedTuple):
    """URLs in their one form, and their hosts; those of odd URLs are empty."""

    urls: Bytes
    url_ends: Numbers
    hosts: Bytes
    host_ends: Numbers
    odd: Mask


def plain_addresses(
    data: Bytes,
    ends: Numbers,
    tables: AddressTables,
) -> Addresses:
    """`pages.urls.canonicalise` and `host` of web addresses in plain characters.

    Odd is an address with anything that needs
    more than copying: a port, capitals in the host, escapes, dot segments, a fragment, such a file
    or parameter, more than one parameter. No URL at all is no address.
    """
    count = len(ends) - 1
    size = int(ends[-1] - ends[0])
    made = Addresses(
        np.empty(size + count, np.uint8),
        np.zeros(count + 1, np.int64),
        np.empty(size, np.uint8),
        np.zeros(count + 1, np.int64),
        np.empty(count, np.bool_),
    )
    _plain_addresses(data, ends, *tables.index_files, *tables.noise, tables.prefixes, *made)  # type: ignore[arg-type]
    return made._replace(
        urls=made.urls[: made.url_ends[-1]], hosts=made.hosts[: made.host_ends[-1]]
    )


@borrowing_kernel
def _plain_addresses(
    data: Bytes,
    ends: Numbers,
    file_keys: NDArray[np.uint64],
    file_values: NDArray[np.int64],
    noise_keys: NDArray[np.uint64],
    noise_values: NDArray[np.int64],
    prefixes: NDArray[np.uint64],
    urls: Bytes,
    url_ends: Numbers,
    hosts: Bytes,
    host_ends: Numbers,
    odd: Mask,
) -> None:
    for row in range(len(odd)):
        start, end = ends[row], ends[row + 1]
        to, host_to = url_ends[row], host_ends[row]
        host = _host_start(data, start, end)
        path = host
        while path < end and _HOST[data[path]]:
            path += 1
        query = path
        while query < end and _PATH[data[query]]:
            query += 1
        is_plain = (
            host > start
            and path > host
            and data[host] != DOT
            and data[path - 1] != DOT
            and (path == end or data[path] == SLASH)
            and (query == end or data[query] == QUESTION)
            and _is_plain_path(data, path, query, file_keys, file_values)
            and (
                query == end
                or _is_plain_query(data, query + 1, end, noise_keys, noise_values, prefixes)
            )
        )
        odd[row] = not is_plain and start < end
        if is_plain:
            for place in range(host, path):
                hosts[host_to] = data[place]
                host_to += 1
            for place in range(7):
                urls[to + place] = _WEB[place]
            to += 7
            for place in range(_after_www(data, host, path), path):
                urls[to] = data[place]
                to += 1
            last = query
            while last > path and data[last - 1] == SLASH:
                last -= 1
            for place in range(path, last):
                urls[to] = data[place]
                to += 1
            if last == path:
                urls[to] = SLASH
                to += 1
            for place in range(query, end):
                urls[to] = data[place]
                to += 1
        url_ends[row + 1], host_ends[row + 1] = to, host_to


@borrowing_kernel
def _host_start(data: Bytes, start: int, end: int) -> int:
    """The place after http:// or https://; `start` without it."""
    at = start
    for place in range(7):
        if place == 4 and at < end and data[at] == SMALL_S:
            at += 1
        if at >= end or data[at] != _WEB[place]:
            return start
        at += 1
    return at


@borrowing_kernel
def _after_www(data: Bytes, at: int, end: int) -> int:
    """The host without `www.`, as long as a dot is left."""
    while (
        at + 4 < end
        and data[at] == 119
        and data[at + 1] == 119
        and data[at + 2] == 119
        and data[at + 3] == DOT
    ):
        place = at + 4
        while place < end and data[place] != DOT:
            place += 1
        if place == end:
            return at
        at += 4
    return at


@borrowing_kernel
def _is_plain_path(
    data: Bytes, start: int, end: int, keys: NDArray[np.uint64], values: NDArray[np.int64]
) -> bool:
    """No segment that begins with a dot, and no file at its end that stands for the folder."""
    for place in range(start, end - 1):
        if data[place] == SLASH and data[place + 1] == DOT:
            return False
    while end > start and data[end - 1] == SLASH:
        end -= 1
    name = end
    while name > start and data[name - 1] != SLASH:
        name -= 1
    return look_up(keys, values, name_hash(data, name, end)) == 0


@borrowing_kernel
def _is_plain_query(
    data: Bytes,
    start: int,
    end: int,
    keys: NDArray[np.uint64],
    values: NDArray[np.int64],
    prefixes: NDArray[np.uint64],
) -> bool:
    """One parameter in plain characters that is not noise."""
    if start == end:
        return False
    name_end = end
    for place in range(start, end):
        if data[place] == AMPERSAND or not (_PATH[data[place]] or data[place] == QUESTION):
            return False
        if data[place] == EQUALS and name_end == end:
            name_end = place
    if look_up(keys, values, name_hash(data, start, name_end)):
        return False
    for number in range(len(prefixes)):
        size = int(prefixes[number] & np.uint64(31))
        if name_end - start >= size:
            key = name_hash(data, start, start + size)
            if key >> np.uint64(5) == prefixes[number] >> np.uint64(5):
                return False
    return True


def prefix_keys(names: tuple[str, ...]) -> NDArray[np.uint64]:
    """Prefixes of parameters as `plain_addresses` takes them: hashes, and lengths in the last
    five bits."""
    assert all(len(name) < 32 for name in names)
    return np.array([hash_of(name) & ~31 | len(name) for name in names], np.uint64)


# Times

UNKNOWN = np.iinfo(np.int64).min
_MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.int64)


def plain_times(data: Bytes, ends: Numbers) -> Numbers:
    """Microseconds since 1970 of times like 2024-01-02, 2024-01-02T03:04:05 and the same with a
    zone (Z, +08:00); `UNKNOWN` for any other text."""
    times = np.empty(len(ends) - 1, np.int64)
    _plain_times(data, ends, times)
    return times


@borrowing_kernel
def _plain_times(data: Bytes, ends: Numbers, times: Numbers) -> None:
    for row in range(len(times)):
        times[row] = _time(data, ends[row], ends[row + 1])


@borrowing_kernel
def _time(data: Bytes, at: int, end: int) -> int:
    size = end - at
    if not (size == 10 or size == 19 or size == 20 or size == 25):
        return UNKNOWN
    year = _two_digits(data, at) * 100 + _two_digits(data, at + 2)
    month, day = _two_digits(data, at + 5), _two_digits(data, at + 8)
    if data[at + 4] != 45 or data[at + 7] != 45 or year < 2 or year > 9998:
        return UNKNOWN
    if month < 1 or month > 12 or day < 1:
        return UNKNOWN
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _MONTH_DAYS[month - 1] + (month == 2 and is_leap):
        return UNKNOWN
    # Days since 1970-01-01, with years that begin in March (Hinnant, chrono-compatible algorithms)
    shifted = year - (month <= 2)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + day_of_year - 719_468
    seconds = 0
    if size > 10:
        hour, minute, second = (
            _two_digits(data, at + 11),
            _two_digits(data, at + 14),
            _two_digits(data, at + 17),
        )
        if (data[at + 10] != 84 and data[at + 10] != 32) or data[at + 13] != 58:
            return UNKNOWN
        if data[at + 16] != 58 or hour > 23 or minute > 59 or second > 59:
            return UNKNOWN
        if hour < 0 or minute < 0 or second < 0:
            return UNKNOWN
        seconds = hour * 3600 + minute * 60 + second
    if size == 20 and data[at + 19] != 90:
        return UNKNOWN
    if size == 25:
        hour, minute = _two_digits(data, at + 20), _two_digits(data, at + 23)
        sign = data[at + 19]
        if (sign != 43 and sign != 45) or data[at + 22] != 58:
            return UNKNOWN
        if hour < 0 or hour > 23 or minute < 0 or minute > 59:
            return UNKNOWN
        seconds += (hour * 3600 + minute * 60) * (-1 if sign == 43 else 1)
    return (days * 86_400 + seconds) * 1_000_000


@borrowing_kernel
def _two_digits(data: Bytes, at: int) -> int:
    """A number of two digits; far below 0 if they are none."""
    high, low = int(data[at]) - 48, int(data[at + 1]) - 48
    return high * 10 + low if 0 <= high <= 9 and 0 <= low <= 9 else -1_000_000
