"""Bodies in pieces: what comes out is what went in, and never more than the limits."""

from __future__ import annotations

import asyncio
import gzip
import random
from collections.abc import Callable
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from neardup.service.logs import Metrics
from neardup.service.middleware import Body, Bounds, Load
from neardup.service.problems import Problem
from neardup.service.settings import Settings
from neardup.service.tokens import Tokens

LIMIT = 3_000
PIECE = 1 << 20  # bytes; no more is decompressed at once


def sent(pieces: list[bytes]) -> Receive:
    """What a server gives of a body that comes in these pieces."""
    messages: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces) - 1}
        for number, piece in enumerate(pieces)
    ]

    async def receive() -> Message:
        return messages.pop(0)

    return receive


def read(pieces: list[bytes], settings: Settings, load: Load, encoding: str = "") -> bytes:
    """The whole content, or the problem with it."""

    async def read_all() -> bytes:
        body = Body(sent(pieces), Headers({"content-encoding": encoding}), settings, load)
        content = b""
        while True:
            message = await body.receive()
            content += bytes(message["body"])
            if not message["more_body"]:
                return content

    return asyncio.run(read_all())


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(content)


PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd}


@given(
    st.binary(max_size=LIMIT + 500),
    st.lists(st.integers(0, 4_000)),
    st.integers(0, 3),
    st.sampled_from(sorted(PACK)),
)
def test_any_pieces_give_the_content_or_are_refused(
    content: bytes, cuts: list[int], members: int, form: str
) -> None:
    packed = content
    if members:
        places = [len(content) * number // members for number in range(members + 1)]
        packed = b"".join(PACK[form](content[a:b]) for a, b in pairwise(places))
    ends = sorted({min(cut, len(packed)) for cut in cuts} | {0, len(packed)})
    pieces = [packed[a:b] for a, b in pairwise(ends)] or [b""]
    encoding = form if members else "identity"
    settings, load = Settings("memory://", body_bytes=LIMIT), Load()
    if len(content) <= LIMIT:
        assert read(pieces, settings, load, encoding) == content
        assert load.bytes == len(content)
    else:
        with pytest.raises(Problem) as refused:
            read(pieces, settings, load, encoding)
        assert refused.value.status_code == 413
        assert load.bytes <= LIMIT + PIECE


@pytest.mark.parametrize("form", sorted(PACK))
def test_a_bomb_is_given_up_at_the_limit(form: str) -> None:
    settings, load = Settings("memory://", body_bytes=5 * PIECE), Load()
    with pytest.raises(Problem) as refused:
        read([PACK[form](bytes(100 * PIECE))], settings, load, form)
    assert refused.value.status_code == 413
    assert load.bytes <= 7 * PIECE


@pytest.mark.parametrize("form", sorted(PACK))
@pytest.mark.parametrize("harm", ["cut", "other", "frames", "window"])
def test_a_packed_body_that_cannot_be_read_is_refused(form: str, harm: str) -> None:
    packed = PACK[form](random.Random(1).randbytes(2_000))
    window = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
    wide = zstandard.ZstdCompressor(compression_params=window).compressobj()
    bodies = {
        "cut": packed[:-9],
        "other": b"neither of them, and longer than a head",
        "frames": PACK[form](b"") * 10_000,
        "window": wide.compress(bytes(9)) + wide.flush(),  # would take 128 MB to read
    }
    with pytest.raises(Problem) as refused:
        read([bodies[harm]], Settings("memory://"), Load(), form)
    assert (refused.value.status_code, refused.value.code) == (400, "bad-encoding")


def test_all_bodies_together_have_a_limit() -> None:
    settings, load = Settings("memory://", held_bytes=1_000), Load()
    assert read([b"x" * 600], settings, load) == b"x" * 600
    with pytest.raises(Problem) as refused:
        read([b"x" * 600], settings, load)
    assert (refused.value.status_code, refused.value.code) == (503, "busy")


def test_what_was_held_is_let_go_when_a_request_ends() -> None:
    """Also one that fails, and one of many at once; then there is room again."""
    chance = random.Random(3)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await asyncio.sleep(chance.random() / 100)
        if scope["path"] == "/fail":
            raise ValueError("a request that fails")

    async def nobody(message: Message) -> None:
        raise AssertionError("nothing is sent here")

    settings = Settings("memory://", waiting=5)
    bounds = Bounds(application, settings, Metrics(), Tokens())

    async def ask(path: str) -> str:
        scope: Scope = {"type": "http", "path": path, "headers": []}
        try:
            await bounds(scope, sent([b"x" * 100]), nobody)
        except Problem as problem:
            return problem.code
        except ValueError:
            return "failed"
        return "answered"

    async def ask_many() -> list[str]:
        return await asyncio.gather(*(ask("/fail" if n % 2 else "/") for n in range(20)))

    first, again = asyncio.run(ask_many()), asyncio.run(ask_many())
    for told in (first, again):
        assert sorted(told) == ["answered"] * 3 + ["busy"] * 15 + ["failed"] * 2
    assert bounds._load == Load()
