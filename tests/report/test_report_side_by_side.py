"""Two pages side by side: what counts is compared, what does not is folded, nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neardup.report.side_by_side import (
    LONGEST_FOLDED,
    LONGEST_TEXT,
    Kind,
    PageText,
    Part,
    mark_texts,
)

lines = st.lists(
    st.tuples(
        st.sampled_from(["a b", "c d", "e", "春茶", "f g h"]), st.sampled_from([0.0, 0.1, 1.0])
    ),
    max_size=8,
)


def page(*weighed: tuple[str, float]) -> PageText:
    return PageText([text for text, _ in weighed], [weight for _, weight in weighed])


def test_what_does_not_count_is_folded_and_not_compared() -> None:
    left = page(("Menu", 0.0), ("The ferry runs.", 1.0), ("About us", 0.02))
    right = page(("Other menu", 0.0), ("The ferry runs.", 1.0), ("Also here", 0.9), ("Legal", 0.0))
    marked = mark_texts(left, right)
    assert [row.kind for row in marked.rows] == ["folded", "shared", "differs", "folded"]
    menu, shared, differs, footer = marked.rows
    assert menu.sides == ([(Part.LEFT, "Menu")], [(Part.RIGHT, "Other menu")])
    assert shared.runs[0].left.strip() == "The ferry runs."
    assert [part for part, _ in differs.sides[1]] == [Part.RIGHT]
    assert footer.sides == ([(Part.LEFT, "About us")], [(Part.RIGHT, "Legal")])
    assert marked.counting == (15, 24)
    assert marked.characters == (27, 39)
    assert marked.bar(0) == [("left-out", 4), ("shared", 16), ("left-out", 8)]


def test_a_faint_line_counts_if_it_counts_on_the_other_page() -> None:
    marked = mark_texts(page(("One line.", 0.1)), page(("ONE line.", 1.0)))
    assert [row.kind for row in marked.rows] == [Kind.AGREES]
    marked = mark_texts(page(("One line.", 0.0)), page(("ONE line.", 1.0)))
    assert {row.kind for row in marked.rows} == {Kind.FOLDED, Kind.DIFFERS}


def test_an_article_that_its_site_repeats_counts_beside_a_heavier_line() -> None:
    article = "The harbour ferry will run every twenty minutes from Monday, the company said."
    left = page(("Menu", 0.001), ("By Someone", 1.0), (article, 0.125))
    marked = mark_texts(left, page((f"{article} And on.", 1.0)))
    assert marked.counting[0] == len(article) + len("By Someone")
    assert any(part is Part.SHARED for row in marked.rows for part, _ in row.sides[0])


def test_long_texts_are_cut() -> None:
    long = page(("x " * LONGEST_TEXT, 1.0), ("menu " * LONGEST_FOLDED, 0.0))
    marked = mark_texts(long, long)
    assert marked.is_cut
    assert [row.kind for row in marked.rows] == ["shared", "gap", "shared", "folded"]
    assert marked.rows[-1].omitted == (4 * LONGEST_FOLDED,) * 2


def test_empty_pages() -> None:
    assert mark_texts(PageText.of("", []), PageText.of("", [])).rows == []


@given(lines, lines)
def test_every_line_is_shown_in_its_place(
    left: list[tuple[str, float]], right: list[tuple[str, float]]
) -> None:
    marked = mark_texts(page(*left), page(*right))
    for side, given_lines in enumerate((left, right)):
        shown = [
            line
            for row in marked.rows
            for line in "".join(text for _, text in row.sides[side]).split("\n")
            if line
        ]
        assert sorted("\n".join(shown).split()) == sorted(
            " ".join(text for text, _ in given_lines).split()
        )
        counting = [text for text, weight in given_lines if weight == 1.0]
        assert marked.counting[side] >= sum(map(len, counting))
