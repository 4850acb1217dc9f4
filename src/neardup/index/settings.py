"""What a store was made for: a method with its options. It answers for that and nothing else."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from neardup.errors import StoreError
from neardup.methods.base import make_method
from neardup.schemas import FORMAT
from neardup.stores.session import Session
from neardup.stores.store import Store

DEFAULT_METHOD = "own-text"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of an index, as its store keeps them."""

    format: int
    method: str
    options: dict[str, Any]
    keep_text: bool


def settle(
    store: Store,
    method: str | None,
    options: Mapping[str, object] | None,
    preset: str | None,
    keep_text: bool | None,
) -> Settings:
    """The settings of the store; those asked for if it is new, or else an error if they differ."""
    stored = store.read(_stored)
    if stored is None:
        made = make_method(method or DEFAULT_METHOD, options, preset=preset or "default")
        asked = Settings(
            FORMAT, made.name, dataclasses.asdict(made.options), keep_text is not False
        )
        stored = store.write(lambda session: _stored(session) or _keep(session, asked))
    _check(store.url, stored, method, options, preset, keep_text)
    return stored


def _stored(session: Session) -> Settings | None:
    found = session.settings()
    if "method" not in found:
        return None
    names = [field.name for field in dataclasses.fields(Settings)]
    return Settings(**{name: json.loads(found[name]) for name in names})


def _keep(session: Session, settings: Settings) -> Settings:
    for name, value in dataclasses.asdict(settings).items():
        session.keep_setting(name, json.dumps(value, sort_keys=True))
    return settings


def _check(
    url: str,
    stored: Settings,
    method: str | None,
    options: Mapping[str, object] | None,
    preset: str | None,
    keep_text: bool | None,
) -> None:
    if stored.format != FORMAT:
        raise StoreError(
            f"{url} was written in format {stored.format} and this neardup reads format {FORMAT}: "
            "use the neardup that wrote it, or add the pages to a new store"
        )
    if method is not None and method != stored.method:
        raise StoreError(
            f"{url} was made with the method {stored.method}, not {method}: leave the method out, "
            "or give another store"
        )
    if options or preset:
        made = make_method(stored.method, options, preset=preset or "default")
        asked = dataclasses.asdict(made.options)
        other = sorted(name for name in asked if asked[name] != stored.options.get(name))
        if other:
            told = ", ".join(f"{name} = {stored.options.get(name)!r}" for name in other)
            raise StoreError(
                f"{url} was made with {told}: leave the options out, or give another store"
            )
    if keep_text is not None and keep_text != stored.keep_text:
        kept = "with" if stored.keep_text else "without"
        raise StoreError(f"{url} was made {kept} the text of pages: that cannot be changed")
