"""Compiles kernels before they are needed, in processes on all cores: `neardup warm-up`.

Numba compiles a kernel for the types of its first call. So the kernels are compiled by doing what
needs them, on a few of the bundled pages. This work is in parts that need different kernels:
parsing pages (nearly half of the time of a first run), and each method on texts. A command waits
for its parts before it starts; whatever they have missed is compiled when it is called first.
"""

from __future__ import annotations

import logging
import os
import platform
import queue
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Annotated

from neardup.cli.messages import COMPILING, LINE_EVERY, say
from neardup.cli.options import DEFAULT_METHOD, METHODS, option
from neardup.errors import OutputError, UsageError
from neardup.kernels.compiled import baseline, cannot_keep, compiling_alone, is_ready, note_ready
from neardup.local.run import default_workers
from neardup.model import RawPage

DEMO_PAGES = Path(__file__).parent / "demo_pages" / "pages"
SAMPLE = 12  # pages
DONE = "done"  # what a process prints after a part; other lines are names of kernels
# What few pages have: a shadow root with a slot, and a word that mixes scripts.
RARE = "<x-y><template shadowrootmode=open><slot></slot></template>раge</x-y>"


def warm_up(portable: Annotated[bool, option("warm-up.portable")] = False) -> None:
    """Compile all kernels now, on all cores, instead of when they are first needed.

    For images, and before measuring. Compiled kernels stay on disk: in NUMBA_CACHE_DIR if that is
    set, beside the installed package, in the user's cache, or in a temporary directory, whichever
    can be written. A wheel of `make wheel` has them already.
    """
    started = time.monotonic()
    if portable:
        oldest = baseline()
        if oldest is None:
            raise UsageError(f"there are no portable kernels for {platform.machine()}")
        os.environ |= {"NUMBA_CPU_NAME": oldest.cpu, "NUMBA_CPU_FEATURES": ""}
    compiled = prepare("pages", *METHODS)
    compiled += prepare(*(f"run-{name}" for name in METHODS))
    say(f"kernels ready: {compiled} compiled in {time.monotonic() - started:.0f} s")


def prepare_run(method: str | None = None) -> None:
    """Compile what a run with a method, or with the default one, needs, as `prepare` does.

    Where kernels cannot be kept, the run compiles as it goes.
    """
    _keep_pandas_out()
    try:
        named = METHODS if method == "all" else [method or DEFAULT_METHOD]
        prepare("pages", *(name for name in named if name in METHODS))
    except OutputError as error:
        say(f"{error}; they are compiled again in every run")
        # Said once: there are hundreds of kernels, each of which would say so.
        log = logging.getLogger("neardup")
        log.addFilter(lambda record: "cannot keep a compiled kernel" not in record.msg)


def _keep_pandas_out() -> None:
    """Let Arrow believe that pandas is not installed.

    For the first list that becomes an array Arrow imports pandas, to see whether the list is one of
    its objects. That takes half a second, and no command has such objects.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        import pyarrow as pa  # noqa: PLC0415 - keeps --help quick

        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """A finder of modules that refuses one."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def prepare(*parts: str) -> int:
    """Compile the kernels of these parts, unless they are there; how many kernels there were.

    Says so on standard error at once and then every few seconds, unless -q was given.
    """
    if all(map(is_ready, parts)):
        return 0
    say(COMPILING)
    with compiling_alone():
        missing = [part for part in parts if not is_ready(part)]
        if not missing:
            return 0
        return _compile(missing, min(len(missing), default_workers()))


def _compile(parts: list[str], count: int) -> int:
    """Compile parts in this many processes, one part after another; how many kernels there were."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for part in parts:
        waiting.put(part)
    kernels: list[str] = []
    started = time.monotonic()
    with ThreadPoolExecutor(count) as pool, ExitStack() as processes:
        leading = [
            pool.submit(_lead, processes.enter_context(_process()), waiting, kernels)
            for _ in range(count)
        ]
        while wait(leading, LINE_EVERY).not_done:
            say(f"compiled {len(kernels)} kernels, {time.monotonic() - started:.0f} s")
    for each in leading:
        if error := each.result():
            raise cannot_keep(error)
    return len(kernels)


@contextmanager
def _process() -> Iterator[subprocess.Popen[str]]:
    """A process that compiles; killed if it is still there at the end, as after Ctrl-C."""
    command = [sys.executable, "-P", "-m", "neardup.cli.warm_up"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _lead(
    process: subprocess.Popen[str], waiting: queue.SimpleQueue[str], kernels: list[str]
) -> OSError | None:
    """Give a process one part after another; why its kernels could not be kept, if so.

    A part that fails is left to the command itself, which compiles as it goes and meets the error.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        while True:
            part = waiting.get_nowait()
            process.stdin.write(f"{part}\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.strip() == DONE:
                    break
                kernels.append(line.strip())
            else:  # it has ended, and would only lose the next part
                return None
            try:
                note_ready(part)
            except OSError as error:  # a full disk
                return error
    except (queue.Empty, BrokenPipeError):
        return None
    finally:
        with suppress(BrokenPipeError):
            process.stdin.close()  # so that it ends


# In the processes


def compile_parts(parts: Iterable[str], report: Callable[[str], None]) -> None:
    """Compile one part after another, reporting the name of each kernel, and `DONE` after each."""
    from neardup.kernels.jit import when_compiling  # noqa: PLC0415 - loads numba

    when_compiling(report)
    for part in parts:
        name = part.removeprefix("run-")
        if part == "pages":
            _parse_pages()
        elif part == name:
            _find_in_texts(name)
        else:
            _run(name)
        report(DONE)


def _parse_pages() -> None:
    from neardup.api import html_page  # noqa: PLC0415
    from neardup.pages.raw import raw_batch  # noqa: PLC0415
    from neardup.text.parse import parse  # noqa: PLC0415

    parse(raw_batch([*_sample(), html_page(RARE, id="rare")]))


def _find_in_texts(method: str) -> None:
    """The method on texts with several lines, of several sites: needs no kernel of parsing."""
    from neardup.api import find_duplicates  # noqa: PLC0415

    pages = _sample()
    texts = [re.sub(r"<[^<>]*>", "\n", page.body.decode(errors="ignore")) for page in pages]
    result = find_duplicates(texts, urls=[page.url for page in pages], method=method)
    result.pairs_with_evidence()


def _run(method: str) -> None:
    """Whole runs over pages, with a result folder and with an index."""
    from neardup.api import dedup  # noqa: PLC0415
    from neardup.index import Index  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        dedup(str(DEMO_PAGES), Path(folder, "result"), method=method)
    with Index.open("memory://", method) as index:
        index.add_many(_sample())
        index.query(_sample()[0])


def _sample() -> list[RawPage]:
    from neardup.pages.readers import read_records  # noqa: PLC0415

    records = read_records([str(DEMO_PAGES)])
    return list(islice((each for each in records if isinstance(each, RawPage)), SAMPLE))


if __name__ == "__main__":
    compile_parts((line.strip() for line in sys.stdin), lambda text: print(text, flush=True))
