"""What Ctrl-C does to a process that a test has started."""

from __future__ import annotations

import signal

# A signal that comes within exec() of a string, as dataclasses do it, is remembered by `python -m`:
# it then ends by that signal. To a shell both are 130.
INTERRUPTED = (130, -signal.SIGINT)


def let_ctrl_c_through() -> None:
    """A shell starts what is to run in the background with Ctrl-C ignored, and what that starts
    ignores it, too. With a handler here, processes begin as in the foreground."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
