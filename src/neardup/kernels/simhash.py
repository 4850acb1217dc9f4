"""Charikar's fingerprint: every bit is a vote of all features.

Bit b of a document is 1 when more of its features' hashes have bit b than not (a tie is 0). A
feature that occurs twice votes twice: counts are the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

PLANES = 5  # of counters of eights
FULL = 8 * (2**PLANES - 1)  # as many votes as the planes can count


@kernel
def simhash(features: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The 64-bit fingerprint of each document; 0 for one without features.

    The votes are counted for 64 bits at once: a plane holds one binary digit of all 64 counters.
    Eight hashes at a time are added up to planes of ones, twos, fours and eights (Harley and Seal's
    population count), and the eights to the planes of higher digits.
    """
    fingerprints = np.zeros(offsets.size - 1, np.uint64)
    votes = np.zeros(64, np.int64)
    planes = np.zeros(PLANES, np.uint64)
    for document in range(fingerprints.size):
        at, end = offsets[document], offsets[document + 1]
        votes[:] = 0
        while at + 8 <= end:
            stop = at + min(FULL, (end - at) // 8 * 8)
            ones = twos = fours = np.uint64(0)
            planes[:] = 0
            while at < stop:
                ones, twos_a = _add(ones, features[at], features[at + 1])
                ones, twos_b = _add(ones, features[at + 2], features[at + 3])
                twos, fours_a = _add(twos, twos_a, twos_b)
                ones, twos_a = _add(ones, features[at + 4], features[at + 5])
                ones, twos_b = _add(ones, features[at + 6], features[at + 7])
                twos, fours_b = _add(twos, twos_a, twos_b)
                fours, carry = _add(fours, fours_a, fours_b)
                for plane in range(PLANES):
                    digit = planes[plane]
                    planes[plane] = digit ^ carry
                    carry = digit & carry
                at += 8
            _count(ones, 0, votes)
            _count(twos, 1, votes)
            _count(fours, 2, votes)
            for plane in range(PLANES):
                _count(planes[plane], 3 + plane, votes)
        while at < end:
            _count(features[at], 0, votes)
            at += 1
        fingerprints[document] = _majority(votes, end - offsets[document])
    return fingerprints


@kernel
def _add(a: np.uint64, b: np.uint64, c: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The sum of three digits, 64 times over: the digit that stays, and the one that is carried."""
    both = a ^ b
    return both ^ c, (a & b) | (both & c)


@kernel
def _count(plane: np.uint64, digit: int, votes: NDArray[np.int64]) -> None:
    """Add a plane of binary digits to the votes."""
    for bit in range(64):
        votes[bit] += np.int64((plane >> np.uint64(bit)) & np.uint64(1)) << digit


@kernel
def _majority(votes: NDArray[np.int64], voters: int) -> np.uint64:
    fingerprint = np.uint64(0)
    for bit in range(64):
        if 2 * votes[bit] > voters:
            fingerprint |= np.uint64(1) << np.uint64(bit)
    return fingerprint
