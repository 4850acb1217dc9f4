"""Compile every kernel before it is needed: `python -m neardup.cli.warm_up`.

Numba compiles a kernel for the types of its first call. So each method decides on a few of the
bundled pages, the way a run and an index would. The compiled code stays on disk (`kernels/jit.py`).
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from neardup.api import dedup, html_page
from neardup.cli.dedup import DEMO_PAGES
from neardup.index import Index
from neardup.kernels.jit import when_compiling
from neardup.methods.registry import BUILT_IN
from neardup.model import RawPage
from neardup.pages import Limits, read_records

PAGES = 12
# What few pages have: a shadow root with a slot, and a word that mixes scripts.
RARE = "<x-y><template shadowrootmode=open><slot></slot></template>раge</x-y>"


def compile_kernels(notify: Callable[[str], None]) -> None:
    """Compile what is not compiled yet, calling `notify` with the name of each such kernel."""
    when_compiling(notify)
    with tempfile.TemporaryDirectory() as folder:
        records = read_records([str(DEMO_PAGES)], Limits())
        pages = list(islice((each for each in records if isinstance(each, RawPage)), PAGES))
        pages.append(html_page(RARE, id="rare"))
        for method in BUILT_IN:
            dedup(str(DEMO_PAGES), Path(folder, method), method=method)
            with Index.open("memory://", method) as index:
                index.add_many(pages)
                index.query(pages[0])


def main() -> None:
    """Compile the kernels and say so on standard error."""
    started, compiled = time.monotonic(), set[str]()

    def count(name: str) -> None:
        if not compiled:
            print("compiling the kernels: a minute or two, once", file=sys.stderr, flush=True)
        compiled.add(name)

    compile_kernels(count)
    seconds = time.monotonic() - started
    print(f"kernels ready: {len(compiled)} compiled, {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
