"""Processes that a test interrupts."""

from __future__ import annotations

import signal

# A signal that comes within exec() of a string, as dataclasses do it, is remembered by `python -m`:
# it then ends by that signal. To a shell both are 130.
INTERRUPTED = (130, -signal.SIGINT)

# `neardup`, without room for parts in memory: those of a small run would stay there, and nothing be
# left for `--resume`.
IN_FILES = """
from neardup.cli.main import run
from neardup.local import work

work.ROOM_SHARE = 0.0
run()
"""


def let_ctrl_c_through() -> None:
    """A shell starts what is to run in the background with Ctrl-C ignored, and what that starts
    ignores it, too. With a handler here, processes begin as in the foreground."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
