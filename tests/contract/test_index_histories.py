"""Whatever happens to an index, it stays whole, and a recheck says what its pages alone say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index_checks import check_whole, groups
from neardup import Index, RawPage, html_page
from neardup.stores import keys
from sample_pages import html, long_html

TEXTS = [
    html("ferry"),
    html("ferry", wrap="div"),
    html("bridge"),
    html("茶"),
    long_html("harbour"),
    long_html("harbour", edited=True),
    long_html("渡口"),
    "<p>Too short</p>",
]
NAMES = [f"n{number}" for number in range(6)]
HOSTS = ["a.example", "b.example"]

pages = st.builds(
    lambda name, host, text: html_page(text, id=name, url=f"http://{host}/{name}"),
    st.sampled_from(NAMES),
    st.sampled_from(HOSTS),
    st.sampled_from(TEXTS),
)
steps = st.one_of(
    st.tuples(st.just("add"), st.lists(pages, min_size=1, max_size=4)),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(NAMES), min_size=1, max_size=2)),
    st.tuples(st.just("recheck"), st.none()),
)


@settings(max_examples=40)
@given(st.lists(steps, max_size=8), st.sampled_from([keys.LOGGED, 50]))
def test_any_history(history: list[tuple[str, object]], logged: int) -> None:
    held: dict[str, RawPage] = {}
    with pytest.MonkeyPatch.context() as patch, Index.open("memory://") as index:
        patch.setattr(keys, "LOGGED", logged)
        patch.setattr(keys, "MOVED_AT_ONCE", 30)
        for verb, what in history:
            if verb == "add":
                assert isinstance(what, list)
                index.add_many(what)
                held |= {page.id: page for page in what}
            elif verb == "remove":
                assert isinstance(what, list)
                index.remove_many(what)
                held = {name: page for name, page in held.items() if name not in what}
            else:
                index.recheck()
            assert check_whole(index) == held.keys()
        index.recheck()
        with Index.open("memory://") as alone:
            alone.add_many(held.values())
            alone.recheck()
            assert groups(index) == groups(alone)
        for cluster in index.clusters():
            for event in index.history(cluster.name):
                assert event.kind in {"created", "split", "joined", "left", "removed", "merged"}
