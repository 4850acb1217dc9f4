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


class NeardupError(Exception):
    """Base class of all neardup errors. `exit_code` is the exit code of the command line."""

    exit_code = 1


class UsageError(NeardupError):
    """The request is wrong: an unknown method, option or value."""

    exit_code = 2


class InputError(NeardupError):
    """An input cannot be read at all."""


class OutputError(NeardupError):
    """The result cannot be written."""


class StoreError(NeardupError):
    """A store cannot be opened, read or written. Acknowledged pages are still in it."""


class RefusedError(StoreError):
    """A store cannot hold a page: a value is longer than the database allows, say."""


class MissingExtraError(NeardupError):
    """An optional dependency is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'neardup[{extra}]'")


class InterruptedRunError(NeardupError):
    """The user interrupted the run."""

    exit_code = 130  # the shell convention for Ctrl-C
