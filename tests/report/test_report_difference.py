"""What two texts share: told apart from what differs, and no text is lost or added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neardup.report.side_by_side import Part, Row, folded_lines, join_shared, line_rows
from neardup.text.tokens import fold_text
from unicode_text import texts


def difference(left: str, right: str) -> list[Row]:
    return join_shared(line_rows(left, right))


def parts(rows: list[Row]) -> list[tuple[Part, str, str]]:
    return [(run.part, run.left, run.right) for row in rows for run in row]


def sides(rows: list[Row]) -> tuple[str, str]:
    runs = [run for row in rows for run in row]
    return "".join(run.left for run in runs), "".join(run.right for run in runs)


@given(texts, texts)
def test_each_side_gives_its_text(left: str, right: str) -> None:
    assert sides(difference(left, right)) == (left, right)


@given(st.lists(st.text(st.characters(codec="ascii")) | texts))
def test_texts_are_folded_as_everywhere(some: list[str]) -> None:
    lines = ["".join(text.splitlines()) for text in some]
    assert folded_lines(lines) == [fold_text(line.strip()) for line in lines]


@given(st.lists(st.sampled_from(["a b c\n", "d\n", "茶山\n", "e f", " ", "\n"])), st.data())
def test_texts_that_share_lines_give_their_texts(lines: list[str], data: st.DataObject) -> None:
    right = "".join(data.draw(st.permutations(lines)))
    assert sides(difference("".join(lines), right)) == ("".join(lines), right)


@given(texts)
def test_a_text_shares_everything_with_itself(text: str) -> None:
    assert all(part is Part.SHARED for part, _, _ in parts(difference(text, text)))


def test_one_changed_word_is_all_that_differs() -> None:
    rows = difference(
        "The ferry runs every twenty minutes today.\nAnd so on.",
        "The ferry runs every thirty minutes today.\nAnd so on.",
    )
    changed = [run for run in parts(rows) if run[0] is not Part.SHARED]
    assert changed == [(Part.LEFT, "twenty ", ""), (Part.RIGHT, "", "thirty ")]


def test_chinese_is_compared_by_characters() -> None:
    rows = difference("山里的气温一直偏低，采茶晚了。", "山里的气温一直很低，采茶晚了。")
    changed = [run for run in parts(rows) if run[0] is not Part.SHARED]
    assert changed == [(Part.LEFT, "偏", ""), (Part.RIGHT, "", "很")]


def test_another_way_to_write_the_same_is_no_difference() -> None:
    rows = difference("THE HARBOUR ferry\n氣溫一直", "The harbour ferry\n气温一直")
    assert {part for part, _, _ in parts(rows)} == {Part.SHARED, Part.WRITTEN}
    assert (Part.WRITTEN, "氣溫", "气温") in parts(rows)


def test_other_line_breaks_are_no_difference() -> None:
    left = "One sentence stands here.\nAnother one follows it."
    rows = difference(left, left.replace("\n", " "))
    assert {part for part, _, _ in parts(rows)} == {Part.SHARED}


def test_shared_lines_stand_side_by_side() -> None:
    rows = difference("Menu\nSearch\nThe story begins here.\n", "Login\nThe story begins here.\n")
    assert [[run.part for run in row] for row in rows] == [[Part.LEFT, Part.RIGHT], [Part.SHARED]]


def test_a_word_that_happens_to_be_in_both_is_no_match() -> None:
    rows = difference(
        "Seven boats left the old harbour before noon", "Nobody saw the minister during winter"
    )
    assert {part for part, _, _ in parts(rows)} == {Part.LEFT, Part.RIGHT}
