"""The settings of a store: one method with its options, and no other."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from neardup.errors import StoreError, UsageError
from neardup.methods.base import Joining, Method, assigner
from neardup.methods.registry import DEFAULT_METHOD, MethodLike, make_method, reference
from neardup.rules.keeping import policy_order
from neardup.schemas import FORMAT
from neardup.stores.session import Session
from neardup.stores.store import Store


@dataclasses.dataclass(frozen=True)
class Request:
    """The settings requested on opening a store; None accepts the store's own."""

    method: MethodLike | None = None
    options: Mapping[str, object] | None = None
    preset: str | None = None
    view: str | None = None
    keep_text: bool | None = None
    search_text: bool | None = None
    keep: str | None = None
    window: int | None = None
    upgrade: bool = False  # accept an older format: everything will be computed again


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of an index, as its store keeps them."""

    format: int
    method: str
    options: dict[str, Any]
    keep_text: bool
    view: str | None = None  # None in stores older than views: the method's default
    search_text: bool = False  # whether the words of texts are indexed
    keep: str | None = None  # the policy of clusters; None: the page that arrived first
    window: int | None = None  # microseconds between pages that can match; None: any time

    def make_method(self) -> Method:
        return make_method(self.method, self.options, view=self.view, stored=True)


def settle(store: Store, request: Request, current: int = FORMAT) -> Settings:
    """The settings of the store: the requested ones if it is new; else an error if they differ.

    `current` is the format of this version.
    """
    stored = store.read(_stored)
    if stored is None:
        named = request.method or DEFAULT_METHOD
        method = make_method(named, request.options, preset=request.preset, view=request.view)
        if method.joining is Joining.REPOSITORY:
            raise UsageError(
                "joining=repository decides in order and for good, but later pages of an index "
                "change its clusters: set joining=components"
            )
        new = Settings(
            current,
            reference(method),
            dataclasses.asdict(method.options),
            request.keep_text is not False,
            str(method.view),
            bool(request.search_text),
            request.keep,
            request.window,
        )
        if new.keep is not None:
            policy_order(new.keep)
        if new.window is not None and (new.window <= 0 or assigner(method) is not None):
            raise UsageError(
                f"a window needs a method that compares pages: {method.name} decides in order"
                if new.window > 0
                else "the window must be longer than zero"
            )
        if new.search_text and not new.keep_text:
            raise UsageError("search over texts needs a store that keeps texts")
        stored = store.write(lambda session: _stored(session) or _keep(session, new))
    _check(store.url, stored, request, current)
    return stored


def _stored(session: Session) -> Settings | None:
    kept = session.settings()
    if "method" not in kept:
        return None
    names = [field.name for field in dataclasses.fields(Settings) if field.name in kept]
    return Settings(**{name: json.loads(kept[name]) for name in names})


def _keep(session: Session, settings: Settings) -> Settings:
    for name, value in dataclasses.asdict(settings).items():
        session.keep_setting(name, json.dumps(value, sort_keys=True))
    return settings


def keep_upgraded(session: Session, method: Method) -> None:
    """Record that all features of a store are those of this version."""
    kept = {"format": FORMAT, "options": dataclasses.asdict(method.options), "view": method.view}
    keep_settings(session, kept)


def keep_settings(session: Session, kept: Mapping[str, object]) -> None:
    """Record settings of a store, by name."""
    for name, value in kept.items():
        session.keep_setting(name, json.dumps(value, sort_keys=True))


def _check(url: str, stored: Settings, request: Request, current: int) -> None:
    can_upgrade = stored.keep_text and stored.format < current
    if stored.format != current and not (request.upgrade and can_upgrade):
        advice = "use the neardup that wrote it, or add the pages to a new store"
        if can_upgrade:
            advice = f"upgrade it with `neardup recheck --store {url}`, from the text that it keeps"
        raise StoreError(
            f"{url} was written in format {stored.format} and this neardup reads format "
            f"{current}: {advice}"
        )
    method = stored.make_method()
    wanted = method if request.method is None else make_method(request.method)
    if reference(wanted) != reference(method):
        raise StoreError(
            f"{url} was made with the method {stored.method}, not {reference(wanted)}: omit the "
            "method, or use another store"
        )
    if request.options or request.preset or request.view:
        view = request.view or (None if request.preset else str(method.view))
        wanted = make_method(type(method), request.options, preset=request.preset, view=view)
        _check_options(url, method, wanted)
    _check_kept(url, stored, request)
    if request.keep_text is not None and request.keep_text != stored.keep_text:
        kept = "with" if stored.keep_text else "without"
        raise StoreError(f"{url} was made {kept} the text of pages: that cannot be changed")
    if request.search_text is not None and request.search_text != stored.search_text:
        kept = "with" if stored.search_text else "without"
        raise StoreError(f"{url} was made {kept} search over texts: that cannot be changed")


def _check_kept(url: str, stored: Settings, request: Request) -> None:
    if request.keep is not None and request.keep != stored.keep:
        policy_order(request.keep)
        raise StoreError(
            f"{url} was made with keep = {stored.keep or 'the page that arrived first'}: omit it, "
            f"or change it with `neardup recheck --store {url} --keep {request.keep}`"
        )
    if request.window is not None and request.window != stored.window:
        days = "no window" if stored.window is None else f"a window of {stored.window / 3.6e9:g} h"
        raise StoreError(f"{url} was made with {days}: omit it, or use another store")


def _check_options(url: str, stored: Method, wanted: Method) -> None:
    values = {**dataclasses.asdict(stored.options), "view": str(stored.view)}
    others = {**dataclasses.asdict(wanted.options), "view": str(wanted.view)}
    if different := sorted(name for name in values if values[name] != others[name]):
        listed = ", ".join(f"{name} = {values[name]!r}" for name in different)
        raise StoreError(f"{url} was made with {listed}: omit the options, or use another store")
