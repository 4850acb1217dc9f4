"""What neardup and each of its extras take on the disk, for docs/install.md.

    .venv/bin/python tools/install_sizes.py

Sizes are of the files that each installed package lists, without compiled Python; an extra counts
what the core does not have. Shared files count once, with the first package that needs them.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement

LEAST = 8_000_000  # bytes of a package with a line of its own


def needed(package: str, extra: str = "") -> set[str]:
    """The packages that one needs, itself included; those not installed are left out."""
    found: set[str] = set()
    waiting = [(package, extra)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, chosen = waiting.pop()
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        try:
            requirements = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        for requirement in map(Requirement, requirements):
            if requirement.marker and not requirement.marker.evaluate({"extra": chosen}):
                continue
            plain = re.sub(r"[-_.]+", "-", requirement.name).lower()
            waiting += [(plain, each) for each in ("", *requirement.extras)]
    return found


def size(package: str) -> int:
    """Bytes of the files of an installed package."""
    files = [each for each in distribution(package).files or [] if each.suffix != ".pyc"]
    places = [file.locate() for file in files]
    return sum(place.stat().st_size for place in places if place.is_file())  # type: ignore[attr-defined]


def main() -> None:
    """Print the core by package, then what each extra adds."""
    core = needed("neardup") - {"neardup"}
    sizes = sorted(((size(name), name) for name in core), reverse=True)
    print(f"core: {sum(each for each, _ in sizes) / 1e6:.0f} MB in {len(sizes)} packages")
    for each, name in sizes:
        if each >= LEAST:
            print(f"  {name}: {each / 1e6:.0f} MB")
    rest = [each for each, _ in sizes if each < LEAST]
    print(f"  {len(rest)} others: {sum(rest) / 1e6:.0f} MB")
    for extra in sorted(distribution("neardup").metadata.get_all("Provides-Extra") or []):
        added = needed("neardup", extra) | core
        print(
            f"{extra}: {sum(size(name) for name in added - core - {'neardup'}) / 1e6:.0f} MB more"
        )


if __name__ == "__main__":
    main()
