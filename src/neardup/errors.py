"""The exceptions neardup raises.

    NeardupError
    ├── UsageError        the request is wrong: unknown method, bad option           (exit 2)
    ├── InputError        an input cannot be read; names file and record             (exit 1)
    ├── OutputError       the result cannot be written                               (exit 1)
    ├── StoreError        a store cannot be opened, read or written; its data is intact (exit 1)
    ├── MissingExtraError an optional dependency is missing; says what to install    (exit 1)
    └── InterruptedRunError Ctrl-C; no result was written                            (exit 130)

A bad page never raises: it becomes a `Skip` (see `neardup.model`), counted and listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NeardupError(Exception):
    """Base class of all neardup errors. `exit_code` is the exit code of the command line."""

    exit_code = 1


class UsageError(NeardupError):
    """The request is wrong: an unknown method, option or value."""

    exit_code = 2


def unknown(what: str, name: object, names: Iterable[str]) -> UsageError:
    """The error for a name that is not among `names`: it lists them, and the nearest."""
    every = [str(each) for each in names]
    hint = did_you_mean(name, every)
    return UsageError(f"unknown {what} {name!r}; there are: {', '.join(every)}{hint}")


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """The end of a message about a name that is not among `names`; empty if none is similar."""
    near = get_close_matches(str(name), list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


class InputError(NeardupError):
    """An input cannot be read at all."""


class OutputError(NeardupError):
    """The result cannot be written."""


class StoreError(NeardupError):
    """A store cannot be opened, read or written. Acknowledged pages are still in it."""


class RefusedError(StoreError):
    """A store cannot hold a page: a value is longer than the database allows, say."""


class UnavailableError(NeardupError):
    """An address of this machine cannot be used: another program has the port, say."""


class MissingExtraError(NeardupError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'neardup[{extra}]'")


class InterruptedRunError(NeardupError):
    """The user interrupted the run."""

    exit_code = 130  # the shell convention for Ctrl-C
