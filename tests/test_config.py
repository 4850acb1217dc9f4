from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from neardup.config import build_options, describe_options, option, parse_size, read_toml
from neardup.errors import UsageError


@dataclass(frozen=True)
class Sample:
    count: int = option(5, "how many", minimum=1, maximum=9)
    share: float = option(0.5, "which share", minimum=0, maximum=1)
    strict: bool = option(True, "whether to be strict")
    way: Literal["plain", "fancy"] = option("plain", "which way")
    label: str = option("x", "what to call it")


def test_values_are_read_as_the_type_of_their_field() -> None:
    texts = {"count": "7", "share": "0.25", "strict": "no", "way": "fancy", "label": "y"}
    assert build_options(Sample, texts, owner="sample") == Sample(7, 0.25, False, "fancy", "y")
    typed = {"count": 7, "share": 1, "strict": False}
    assert build_options(Sample, typed, owner="sample") == Sample(7, 1.0, False)


def test_dashes_and_underscores_are_one() -> None:
    @dataclass(frozen=True)
    class Other:
        minimum_text: int = option(1, "")

    assert build_options(Other, {"minimum-text": "4"}, owner="o") == Other(4)


def test_an_earlier_name_still_works_and_warns() -> None:
    @dataclass(frozen=True)
    class Renamed:
        min_units: int = option(1, "", was="few")

    with pytest.warns(FutureWarning, match="option 'few' of o is now 'min_units'"):
        assert build_options(Renamed, {"few": "4"}, owner="o") == Renamed(4)
    with (
        pytest.warns(FutureWarning),
        pytest.raises(UsageError, match="option 'min_units' of o is set twice"),
    ):
        build_options(Renamed, {"min_units": 3, "few": 4}, owner="o")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nope": 1}, "sample has no option 'nope'; it has: count, share, strict, way, label"),
        ({"count": "many"}, "option 'count' of sample: 'many' is not a value of type int"),
        ({"count": 2.5}, "2.5 is not a value of type int"),
        ({"count": True}, "True is not a value of type int"),
        ({"count": 0}, "option 'count' of sample: 0 is below 1"),
        ({"count": "10"}, "option 'count' of sample: 10 is above 9"),
        ({"share": "nan"}, "'nan' is not a value of type float"),
        ({"share": [1]}, "is not a value of type float"),
        ({"strict": "perhaps"}, "'perhaps' is not a value of type bool"),
        ({"strict": 1}, "1 is not a value of type bool"),
        ({"way": "odd"}, "'odd' is not 'plain' or 'fancy'"),
        ({"label": 3}, "3 is not a value of type str"),
    ],
)
def test_a_bad_value_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_options(Sample, values, owner="sample")
    assert message in str(caught.value)


def test_options_describe_themselves() -> None:
    infos = {info.name: info for info in describe_options(Sample)}
    assert infos["count"].default == 5
    assert infos["way"].choices == ("plain", "fancy")
    assert infos["share"].help == "which share"


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("512 mb", 512 * 10**6), ("1.5GiB", 3 * 2**29), ("1000", 1000), ("2k", 0)],
)
def test_sizes(text: str, size: int) -> None:
    if size:
        assert parse_size(text) == size
    else:
        with pytest.raises(UsageError, match="is not a size"):
            parse_size(text)


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "0", "1e999", "nan"])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)


def test_toml_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    with pytest.raises(UsageError, match=r"c\.toml: No such file"):
        read_toml(path)
    path.write_text("method =")
    with pytest.raises(UsageError, match=r"c\.toml is not TOML"):
        read_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"c\.toml is not TOML"):
        read_toml(path)
