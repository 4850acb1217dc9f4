"""Charikar's fingerprint: every bit is a vote of all features.

Bit b of a document is 1 when more of its features' hashes have bit b than not (a tie is 0). A
feature that occurs twice votes twice: counts are the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.jit import kernel

PLANES = 8
FULL = 2**PLANES - 1  # as many votes as the planes can count


@kernel
def simhash(features: NDArray[np.uint64], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The 64-bit fingerprint of each document; 0 for one without features.

    The votes are counted for 64 bits at once: plane p holds bit p of all 64 counters, and adding a
    hash is a binary addition that carries from plane to plane.
    """
    fingerprints = np.zeros(offsets.size - 1, np.uint64)
    planes = np.zeros(PLANES, np.uint64)
    votes = np.zeros(64, np.int64)
    for document in range(fingerprints.size):
        begin, end = offsets[document], offsets[document + 1]
        votes[:] = 0
        while begin < end:
            stop = min(begin + FULL, end)
            planes[:] = 0
            for place in range(begin, stop):
                carry = features[place]
                for plane in range(PLANES):
                    sum_here = planes[plane]
                    planes[plane] = sum_here ^ carry
                    carry = sum_here & carry
                    if carry == 0:
                        break
            _add_planes(planes, votes)
            begin = stop
        fingerprints[document] = _majority(votes, end - offsets[document])
    return fingerprints


@kernel
def _add_planes(planes: NDArray[np.uint64], votes: NDArray[np.int64]) -> None:
    for plane in range(PLANES):
        bits = planes[plane]
        for bit in range(64):
            votes[bit] += np.int64((bits >> np.uint64(bit)) & np.uint64(1)) << plane


@kernel
def _majority(votes: NDArray[np.int64], voters: int) -> np.uint64:
    fingerprint = np.uint64(0)
    for bit in range(64):
        if 2 * votes[bit] > voters:
            fingerprint |= np.uint64(1) << np.uint64(bit)
    return fingerprint
