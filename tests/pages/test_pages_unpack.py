"""Decompression: chunks of bounded size, damage told, reading resumed."""

from __future__ import annotations

import gzip
import io
import os
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from neardup.model import SkipReason
from neardup.pages.http import inflate_bounded
from neardup.pages.streams import Chunk, chunks


class Pipe(io.BytesIO):
    """Cannot go back, as a pipe cannot."""

    def seekable(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = 0, /) -> int:
        raise io.UnsupportedOperation

    def tell(self) -> int:
        raise io.UnsupportedOperation


def unpack(data: bytes, *, resumes: bool = False, pipe: bool = False) -> list[Chunk]:
    stream = Pipe(data) if pipe else io.BytesIO(data)
    if resumes:
        return list(chunks(stream, lambda start: start.startswith(b"{")))
    return list(chunks(stream))


def joined(found: list[Chunk]) -> bytes:
    return b"".join(chunk.data for chunk in found)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@given(st.lists(st.binary(max_size=300_000), max_size=4), st.sampled_from([gzip.compress, zstd]))
def test_members_come_out_whole_and_apart(parts: list[bytes], pack: object) -> None:
    assert callable(pack)
    found = unpack(b"".join(map(pack, parts)))
    assert joined(found) == b"".join(parts)
    assert sum(chunk.opens for chunk in found) == sum(map(bool, parts))
    assert not any(chunk.damage for chunk in found)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("pipe", [False, True])
def test_truncation_is_told_after_what_there_is(pack: object, pipe: bool) -> None:
    assert callable(pack)
    data = os.urandom(150_000) * 3
    found = unpack(pack(data)[:100_000], pipe=pipe)
    assert data.startswith(joined(found))
    assert found[-1].damage is not None
    assert found[-1].damage.reason is SkipReason.TRUNCATED


def test_bytes_before_corruption_are_given() -> None:
    data = os.urandom(200_000)
    packed = bytearray(gzip.compress(data, 0))  # stored, so the place of damage is known
    packed[-5] ^= 1  # the checksum
    found = unpack(bytes(packed))
    assert joined(found) == data
    assert found[-1].damage is not None
    assert found[-1].damage.reason is SkipReason.BAD_RECORD


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("pipe", [False, True])
def test_resumes_at_the_next_member(pack: object, pipe: bool) -> None:
    assert callable(pack)
    parts = [b"{%d" % number + os.urandom(500) for number in range(3)]
    packed = [pack(part) for part in parts]
    broken = packed[1][:4] + b"\xff" * 25 + packed[1][29:]
    found = unpack(packed[0] + broken + packed[2], resumes=True, pipe=pipe)
    assert found[0].data == parts[0]
    assert found[-1].data == parts[2]
    assert found[-1].opens
    assert found[-1].damage is not None


def test_a_zstd_dictionary_in_the_first_frame() -> None:
    samples = [b"<html><body>page %d of the site</body></html>" % n * 9 for n in range(200)]
    trained = zstandard.train_dictionary(2000, list(samples))
    compressor = zstandard.ZstdCompressor(dict_data=trained)
    for held in (trained.as_bytes(), zstd(trained.as_bytes())):
        frame = b"\x5d\x2a\x4d\x18" + len(held).to_bytes(4, "little") + held
        found = unpack(frame + b"".join(map(compressor.compress, samples[:5])))
        assert joined(found) == b"".join(samples[:5])


@pytest.mark.parametrize("data", [b"", b"\0", b"\x1f", b"plain" * 100_000])
def test_plain_bytes_pass(data: bytes) -> None:
    assert joined(unpack(data)) == data


def test_a_zstd_bomb_comes_in_bounded_chunks() -> None:
    sizes = (len(chunk.data) for chunk in unpack(zstd(bytes(400_000_000))))
    assert max(sizes) < 20_000_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@given(data=st.binary(max_size=200))
def test_nonsense_is_an_error_the_caller_expects(coding: str, data: bytes) -> None:
    with suppress(ValueError, EOFError):
        assert len(inflate_bounded(data, coding, 1000)) <= 1001
