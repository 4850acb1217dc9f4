"""Tokens and the sessions that follow from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.errors import UsageError
from neardup.service.settings import Settings
from neardup.service.tokens import SESSION_SECONDS, Access, Tokens, read_tokens

READ, WRITE = "reading-token-1234", "writing-token-1234"
TOKENS = Tokens(((READ, Access.READ), (WRITE, Access.WRITE)))


def test_tokens_are_read_from_a_file_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# those who look\nread {READ}\n\n  write   {WRITE}  \n", "utf-8")
    found = read_tokens(file, {"NEARDUP_READ_TOKENS": f"{'a' * 16} {'b' * 16}"})
    assert found.access(READ) is Access.READ
    assert found.access(WRITE) is Access.WRITE
    assert found.access("a" * 16) is Access.READ
    assert READ not in repr(found)


def test_without_tokens_everybody_may_everything() -> None:
    nobody = read_tokens("", {})
    assert not nobody
    assert nobody.access(None) is nobody.session_access(None) is Access.WRITE


@given(st.one_of(st.none(), st.text(), st.sampled_from([READ[:-1], READ + "x", READ.upper()])))
def test_nothing_but_a_token_is_one(given_: str | None) -> None:
    assert TOKENS.access(given_) is Access.NONE


def test_a_session_lasts_its_time_and_goes_with_its_token() -> None:
    cookie = TOKENS.session(WRITE, now=1_000.0)
    assert TOKENS.session_access(cookie, now=1_001.0) is Access.WRITE
    assert TOKENS.session_access(cookie, now=1_001.0 + SESSION_SECONDS) is Access.NONE
    assert Tokens(((READ, Access.READ),)).session_access(cookie, now=1_001.0) is Access.NONE
    later = f"{10**9}.{cookie.partition('.')[2]}"
    assert TOKENS.session_access(later, now=1_001.0) is Access.NONE


@given(st.one_of(st.none(), st.text(), st.from_regex(r"\d{1,20}\.[0-9a-f]{64}")))
def test_no_made_up_session_opens_anything(cookie: str | None) -> None:
    assert TOKENS.session_access(cookie) is Access.NONE


@pytest.mark.parametrize("line", ["read short", "write ééééééééééééééééé", f"admin {READ}", READ])
def test_odd_tokens_are_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "tokens").write_text(line, "utf-8")
    with pytest.raises(UsageError, match="line 1"):
        read_tokens(tmp_path / "tokens", {})


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *(("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("box.example", False)),
    ],
)
def test_what_only_this_machine_reaches(host: str, local: bool) -> None:
    assert Settings("memory://", host=host).is_local is local


def test_settings_survive_the_way_to_a_worker() -> None:
    settings = Settings("sqlite:///x.db", host_names=("a", "b"), seconds=1.5)
    assert Settings.from_json(settings.to_json()) == settings
