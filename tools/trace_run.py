"""Which source files and functions a run goes through: `make trace`.

Runs `neardup dedup` on the bundled pages with a profile function on every thread, and prints each
source file of neardup whose functions ran, with the functions, and then the files that were only
imported. Compiled kernels are not seen; a run before it compiles them, so that compiling, which
happens once, is not part of the trace.
"""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType


class Trace:
    """The code that ran, by file, as a function for `sys.setprofile`."""

    def __init__(self, package: Path) -> None:
        self.package = f"{package}/"
        self.functions: dict[str, set[str]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note the file of each Python call, and its name if it is a function of its own."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.package):
            return
        functions = self.functions[code.co_filename.removeprefix(self.package)]
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or a class
        if is_function and not code.co_name.startswith("<"):  # <lambda>, <listcomp>, <genexpr>
            functions.add(code.co_qualname)

    def print(self) -> None:
        """Each file with its functions, the files that were only imported, and the totals."""
        sources = {file: called for file, called in self.functions.items() if file.endswith(".py")}
        walked = {file: called for file, called in sorted(sources.items()) if called}
        for file, called in walked.items():
            print(f"{file}: {', '.join(sorted(called))}")
        print(f"\nonly imported: {', '.join(sorted(sources.keys() - walked.keys()))}")
        functions = sum(map(len, walked.values()))
        everything = len(list(Path(self.package).rglob("*.py")))
        print(f"\n{len(walked)} of {everything} files, {functions} functions")


def main() -> None:
    """Trace one run, module bodies included: nothing of neardup is imported before it starts."""
    spec = importlib.util.find_spec("neardup")
    if spec is None or spec.origin is None:
        sys.exit("neardup is not installed")
    package = Path(spec.origin).parent
    trace = Trace(package)
    with tempfile.TemporaryDirectory() as folder:
        pages = package / "cli" / "demo_pages" / "pages"
        command = ["dedup", str(pages), "--out"]
        first = [sys.executable, "-m", "neardup", *command, str(Path(folder, "first")), "-q"]
        subprocess.run(first, check=True, stdout=subprocess.DEVNULL)
        sys.argv = ["neardup", *command, str(Path(folder, "out"))]
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            from neardup.cli.main import run  # noqa: PLC0415 - its import is part of the run

            run()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    trace.print()


if __name__ == "__main__":
    main()
