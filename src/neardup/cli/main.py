"""The command line, `neardup COMMAND`. The other modules of this package hold the commands."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Annotated

import typer

from neardup.cli import check, compare, dedup, evaluate, serve, store, warm_up
from neardup.cli.messages import with_messages
from neardup.cli.options import Command, Group, examples_of
from neardup.errors import NeardupError

OBJECTS_UNSEARCHED = 200_000  # new ones before the first search for garbage

app = typer.Typer(
    name="neardup",
    cls=Group,
    help="Find duplicate and near-duplicate web pages.",
    epilog="Start with: [bold]neardup demo[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - keeps --help quick

        typer.echo(f"neardup {version('neardup')}")
        raise typer.Exit


@app.callback()
def neardup(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find duplicate and near-duplicate web pages."""


for command in (
    dedup.dedup,
    dedup.recluster,
    check.check,
    store.status,
    store.expire,
    store.recheck,
    store.export,
    compare.compare,
    compare.methods,
    dedup.demo,
    serve.serve,
    evaluate.evaluate,
    evaluate.tune,
    evaluate.synth,
    warm_up.warm_up,
):
    name = command.__name__.replace("_", "-")
    app.command(name, cls=Command, epilog=examples_of(name))(with_messages(command))


def run() -> None:
    """The entry point. Errors print one line and set the exit code."""
    # Imports make a hundred thousand objects that stay; to search them for garbage several times
    # took a twentieth of the processor time of a small run.
    gc.set_threshold(OBJECTS_UNSEARCHED)
    atexit.register(gc.freeze)  # or Python searches all of them when it ends: a sixth of such a run
    # NumPy starts a thread of linear algebra for each core, which waits busily at first. Nothing
    # here multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Typer makes all commands that there are, though only one is called.
    commands = app.registered_commands
    called = [each for each in commands if [each.name] == sys.argv[1:2]]
    app.registered_commands = called or commands
    try:
        app(prog_name="neardup")
    except NeardupError as error:
        for line in (error, *getattr(error, "__notes__", [])):
            typer.echo(f"neardup: {line}", err=True)
        sys.exit(error.exit_code)
    finally:
        app.registered_commands = commands
