"""Who may read and who may write: bearer tokens, and sessions of browsers that showed one.

A file holds one token per line, `read TOKEN` or `write TOKEN`; the environment variables
NEARDUP_READ_TOKENS and NEARDUP_WRITE_TOKENS hold them separated by spaces. A session is signed with
its token, so it needs no memory, is valid in every worker, and ends when the token is removed.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from neardup.errors import UsageError

SHORTEST = 16  # characters; shorter ones can be guessed
SESSION = "neardup_session"  # the cookie of a browser that logged in
SESSION_SECONDS = 12 * 3600
VARIABLES = {"read": "NEARDUP_READ_TOKENS", "write": "NEARDUP_WRITE_TOKENS"}


class Access(IntEnum):
    """What a caller may do; each level includes the ones below."""

    NONE = 0
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Tokens:
    """All tokens with what each allows. Without tokens everybody may do everything."""

    known: tuple[tuple[str, Access], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.known)

    def __repr__(self) -> str:
        return f"Tokens({len(self.known)})"  # never into a log

    def access(self, token: str | None) -> Access:
        if not self.known:
            return Access.WRITE
        return self._greatest(token or "", lambda known: known)

    def session(self, token: str, now: float | None = None) -> str:
        """The cookie of a browser that logged in with this token."""
        until = str(round((now or time.time()) + SESSION_SECONDS))
        return f"{until}.{_signed(token, until)}"

    def session_access(self, cookie: str | None, now: float | None = None) -> Access:
        if not self.known:
            return Access.WRITE
        until, _, signature = (cookie or "").partition(".")
        if not (until.isdecimal() and until.isascii() and len(until) < 16):
            return Access.NONE
        if int(until) < (now or time.time()):
            return Access.NONE
        return self._greatest(signature, lambda token: _signed(token, until))

    def _greatest(self, shown: str, expected: Callable[[str], str]) -> Access:
        """The highest access; all tokens are compared, so that timing reveals nothing."""
        matching = [
            access
            for token, access in self.known
            if hmac.compare_digest(_digest(shown), _digest(expected(token)))
        ]
        return max(matching, default=Access.NONE)


def _digest(text: str) -> bytes:
    """The same length for all texts: comparing them then takes the same time."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _signed(token: str, message: str) -> str:
    return hmac.new(token.encode(), f"session {message}".encode(), "sha256").hexdigest()


def read_tokens(file: str | Path, environment: Mapping[str, str]) -> Tokens:
    """The tokens of a file (none if its name is empty) and of the environment."""
    tokens = [
        (kind, token, variable)
        for kind, variable in VARIABLES.items()
        for token in environment.get(variable, "").split()
    ]
    if file:
        tokens += _lines(Path(file))
    return Tokens(tuple(_checked(*each) for each in tokens))


def _lines(file: Path) -> Iterable[tuple[str, str, str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the tokens in {file}: {error}") from None
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[0] not in VARIABLES:
            raise UsageError(f"{file}, line {number}: write 'read TOKEN' or 'write TOKEN'")
        yield words[0], words[1], f"{file}, line {number}"


def _checked(kind: str, token: str, place: str) -> tuple[str, Access]:
    if len(token) < SHORTEST or not token.isascii():
        raise UsageError(
            f"{place}: a token needs at least {SHORTEST} ASCII characters; create one with: "
            "openssl rand -hex 32"
        )
    return token, Access[kind.upper()]
