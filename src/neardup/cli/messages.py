"""The options of every command about its messages: -q, -v and --log-file."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

from neardup.cli.options import name_values, option
from neardup.errors import UsageError

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"

quiet = False  # whether progress is left out


def set_up(*, silent: bool, verbose: bool, log_file: str | None) -> None:
    """Show or hide progress, and send what the library logs to standard error or a file."""
    global quiet  # noqa: PLW0603 - as the terminal, it is one for the process
    quiet = silent
    handlers: list[logging.Handler] = []
    if verbose:
        handlers.append(logging.StreamHandler(sys.stderr))
        handlers[-1].setFormatter(logging.Formatter("neardup: %(message)s"))
        handlers[-1].setLevel(logging.INFO)  # progress shows what begins
    if log_file is not None:
        try:
            handlers.append(logging.FileHandler(log_file, encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot write the log file {log_file}: {error.strerror}") from None
        handlers[-1].setFormatter(logging.Formatter(LINE))
    for handler in handlers:
        logger = logging.getLogger("neardup")
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)


def with_messages(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options about messages beside its own."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(*arguments: Any, quiet: bool, verbose: bool, log_file: str | None, **more: Any) -> None:
        set_up(silent=quiet, verbose=verbose, log_file=log_file)
        command(*arguments, **more)

    kinds = {
        "quiet": (Annotated[bool, option("shared.quiet")], False),
        "verbose": (Annotated[bool, option("shared.verbose")], False),
        "log_file": (Annotated[str | None, option("shared.log_file")], None),
    }
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in kinds.items()
    ]
    parameters = [*signature.parameters.values(), *added]
    name_values(parameters)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    del run.__wrapped__  # typer would read its signature
    return run
