"""Parts that other packages can add to neardup, found by entry point.

[project.entry-points."neardup.stores"]
redis = "my_package.redis_store:open_redis"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Generic, TypeVar, cast

Part = TypeVar("Part")


class Registry(Generic[Part]):
    """Parts of one kind by name: neardup's own and those of installed packages.

    `own` maps a name to a part, or to `module:attribute`, imported on first use. Of parts with one
    name, the one that was registered counts, then neardup's own, then that of another package.
    """

    def __init__(self, group: str, own: Mapping[str, str | Part]) -> None:
        self._group = group
        self._own = own
        self._parts: dict[str, Part] = {}  # registered in this process
        self._loaded: dict[str, Part] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=self._group)}

    def register(self, name: str, part: Part) -> None:
        """Add a part for this process."""
        self._parts[name] = part

    def unregister(self, name: str) -> None:
        """Take back what was registered under a name."""
        del self._parts[name]

    @property
    def names(self) -> list[str]:
        """The names of all parts, neardup's own first."""
        return list(dict.fromkeys([*self._own, *self._installed, *self._parts]))

    def get(self, name: str) -> Part | None:
        """The part of that name; None without one."""
        if name in self._parts:
            return self._parts[name]
        if name not in self._loaded:
            if name in self._own:
                own = self._own[name]
                self._loaded[name] = cast(Part, resolve_name(own) if isinstance(own, str) else own)
            elif name in self._installed:
                self._loaded[name] = cast(Part, self._installed[name].load())
        return self._loaded.get(name)

    def items(self) -> Iterator[tuple[str, Part]]:
        """Every part with its name."""
        for name in self.names:
            part = self.get(name)
            assert part is not None
            yield name, part
