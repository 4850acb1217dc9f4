"""`python -m neardup` is `neardup`."""

from neardup.cli.main import run

run()
