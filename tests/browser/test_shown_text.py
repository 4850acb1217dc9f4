"""The text of pages that scripts and shadow roots put together, against Chromium.

The pages of `shown/` have the form of what react-dom/server (18 and 19), Next.js and Lit's server
renderer write; the functions that move things about are our own, with their names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neardup import html_page
from neardup.pages.raw import raw_batch
from neardup.text.parse import parse

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGES = sorted((Path(__file__).parent / "shown").glob("*.html"))

# `innerText` does not look into shadow roots: a copy of the flat tree, in light elements, has it.
INNER_TEXT = """
() => {
  const flat = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE) return [node.cloneNode()];
    if (node.localName === "slot" && node.getRootNode() instanceof ShadowRoot) {
      const assigned = node.assignedNodes();
      return (assigned.length ? assigned : [...node.childNodes]).flatMap(flat);
    }
    const copy = node.cloneNode();
    for (const child of (node.shadowRoot ?? node).childNodes) copy.append(...flat(child));
    return [copy];
  };
  const copy = flat(document.body)[0];
  document.body.replaceWith(copy);
  return copy.innerText;
}
"""


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_text_is_what_a_browser_shows(path: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(200)
    shown = page.evaluate(INNER_TEXT)
    page.close()
    text = parse(raw_batch([html_page(path.read_bytes(), id="page")]))["text"][0].as_py()
    assert words(text) == words(shown)
    assert "oading" not in text
