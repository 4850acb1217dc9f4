"""Options: frozen dataclasses, filled from TOML, `--set name=value` or Python.

An options class is a frozen dataclass whose fields are bool, int, float, str or a Literal of
strings, each with a default and a one-line description in its metadata (see `option`). Ranges are
checked by `build_options`, so a method never sees a bad value.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from neardup.errors import UsageError, did_you_mean

OptionsClass = TypeVar("OptionsClass")


def option(
    default: Any,
    about: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    was: str = "",
) -> Any:
    """A dataclass field with a description and a range.

    `was` is an earlier name of the option, accepted with a warning (docs/compatibility.md).
    """
    return dataclasses.field(
        default=default,
        metadata={"help": about, "minimum": minimum, "maximum": maximum, "was": was},
    )


@dataclasses.dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option, as help texts and `neardup methods` show it."""

    name: str
    type: str
    default: object
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    was: str = ""


def describe_options(cls: type) -> tuple[OptionInfo, ...]:
    """Every option of an options class, in order."""
    hints = get_type_hints(cls)
    infos = []
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        infos.append(
            OptionInfo(
                field.name,
                "choice" if choices else kind.__name__,
                field.default,
                field.metadata.get("help", ""),
                choices,
                field.metadata.get("minimum"),
                field.metadata.get("maximum"),
                field.metadata.get("was", ""),
            )
        )
    return tuple(infos)


def build_options(
    cls: type[OptionsClass], values: Mapping[str, object], *, owner: str, warn: bool = True
) -> OptionsClass:
    """An instance of `cls` from `values`; strings are converted to the field's type.

    Old names of options work, with a warning unless `warn` is off.
    """
    infos = {info.name: info for info in describe_options(cls)}
    renamed = {info.was: info.name for info in infos.values() if info.was}
    read: dict[str, object] = {}
    for raw_name, value in values.items():
        name = raw_name.replace("-", "_")
        if name in renamed:
            new = renamed[name]
            if warn:
                message = f"option {name!r} of {owner} is now {new!r}; the next version drops it"
                warnings.warn(message, FutureWarning, stacklevel=3)  # users see it by default
            name = new
        if name not in infos:
            known = ", ".join(infos) or "none"
            hint = did_you_mean(name, infos)
            raise UsageError(f"{owner} has no option {raw_name!r}; it has: {known}{hint}")
        if name in read:
            raise UsageError(f"option {name!r} of {owner} is set twice")
        read[name] = _read_value(infos[name], value, owner)
    return cls(**read)


_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False}


def _read_value(info: OptionInfo, value: object, owner: str) -> object:
    expected = (
        " or ".join(repr(choice) for choice in info.choices) or f"a value of type {info.type}"
    )
    bad = UsageError(f"option {info.name!r} of {owner}: {value!r} is not {expected}")
    result: object
    if info.choices or info.type == "str":
        if not isinstance(value, str) or (info.choices and value not in info.choices):
            raise bad
        return value
    if info.type == "bool":
        result = _WORDS.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(result, bool):
            raise bad
        return result
    try:
        result = _read_number(info.type, value)
    except (TypeError, ValueError):
        raise bad from None
    _check_range(info, result, owner)
    return result


def _read_number(kind: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    number = float(value)
    if math.isnan(number):
        raise ValueError(value)
    if kind == "float":
        return number
    whole = int(value) if isinstance(value, str) else int(number)
    if whole != number:
        raise ValueError(value)
    return whole


def _check_range(info: OptionInfo, value: float, owner: str) -> None:
    if info.minimum is not None and value < info.minimum:
        raise UsageError(f"option {info.name!r} of {owner}: {value} is below {info.minimum}")
    if info.maximum is not None and value > info.maximum:
        raise UsageError(f"option {info.name!r} of {owner}: {value} is above {info.maximum}")


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary; the error for a bad one says where it is wrong."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the config file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None


_UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
_UNITS |= {"KIB": 1024, "MIB": 1024**2, "GIB": 1024**3, "TIB": 1024**4}


def parse_size(text: str) -> int:
    """Bytes from '4GB', '512 MB', '1.5GiB' or '1000000'."""
    compact = text.strip().upper().replace(" ", "")
    digits = compact.rstrip("KMGTIB")
    unit = compact[len(digits) :]
    try:
        size = int(float(digits) * _UNITS[unit])
    except (KeyError, ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a size; write it as 4GB or 512MB") from None
    if size <= 0:
        raise UsageError(f"{text!r} is not a size above zero")
    return size
