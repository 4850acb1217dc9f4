"""Puts compiled kernels into the wheel, for `make wheel`, and tags it with the platform.

The folder of kernels is in NEARDUP_KERNELS; without it the wheel is pure Python and runs anywhere.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """A build hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("NEARDUP_KERNELS")
        if folder is None or version == "editable":
            return
        from neardup.kernels import compiled  # noqa: PLC0415 - not there in an isolated build

        current = {compiled.folder_name(source) for source in compiled.HERE.glob("*.py")}
        kept = [each for each in Path(folder).iterdir() if each.name in current or each.is_file()]
        if not any(each.is_dir() for each in kept):
            raise FileNotFoundError(f"no kernels of these sources in {folder}: use `make wheel`")
        # Compiled kernels belong to one version of Python, as extension modules do.
        python = f"cp{sysconfig.get_python_version().replace('.', '')}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"{python}-{python}-{platform}"
        build_data["pure_python"] = False
        for each in kept:  # not those of earlier sources, which an earlier build has left
            build_data["force_include"][str(each)] = f"neardup/kernels/shipped/{each.name}"
