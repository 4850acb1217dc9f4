"""Every error neardup raises on purpose.

    NeardupError
    ├── UsageError        the request itself is wrong: unknown method, bad option   (exit 2)
    ├── InputError        nothing can be read from an input; names file and record  (exit 1)
    ├── OutputError       the result cannot be written                              (exit 1)
    ├── StoreError        a store cannot be opened, read or written; what it held is intact (exit 1)
    ├── MissingExtraError an optional part is not installed; says what to install   (exit 1)
    └── InterruptedRunError Ctrl-C; no result was written                             (exit 130)

One bad page is never an error: it is a `Skip` (see `neardup.model`), counted and listed.
"""

from __future__ import annotations


class NeardupError(Exception):
    """The root: catch this to catch all of them. `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(NeardupError):
    """The request cannot be understood: an unknown method, option or value."""

    exit_code = 2


class InputError(NeardupError):
    """An input cannot be read at all."""


class OutputError(NeardupError):
    """The result cannot be written."""


class StoreError(NeardupError):
    """A store cannot be opened, read or written. What was acknowledged before is still there."""


class MissingExtraError(NeardupError):
    """An optional part is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'neardup[{extra}]'")


class InterruptedRunError(NeardupError):
    """The user stopped the run."""

    exit_code = 130  # what shells give for Ctrl-C
