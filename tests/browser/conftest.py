"""A headless Chromium for tests, and pages in it that are watched.

Without Chromium or playwright these tests are skipped; in CI (CI=true) that is a failure.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from real_parts import missing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, started once a module.

    No longer, because while playwright runs its event loop does too, and no other test of the
    process could run one.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        missing("needs Chromium: apt-get install chromium")
    if find_spec("playwright") is None:
        missing("needs playwright: pip install playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield started
        started.close()


@dataclass
class Watched:
    """A page of the browser, with everything it did that it should not."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def check(self) -> None:
        """Nothing was loaded, nothing was blocked, nothing failed."""
        violations = self.page.evaluate("window.violations")
        assert [*self.complaints, *violations] == []


@pytest.fixture
def open_watched(browser: Browser) -> Iterator[Any]:
    """Open an address in a page that is watched until the end of the test.

    Call as `open_watched(url, allowed="file:", **options)`: requests to anything but what starts
    with `allowed` are complaints; the options are those of a browser context.
    """
    opened: list[tuple[BrowserContext, Watched]] = []

    def open_(url: str, allowed: str | tuple[str, ...] = "file:", **options: Any) -> Page:
        context = browser.new_context(**options)
        context.add_init_script(NOTE_VIOLATIONS)
        watched = Watched(context.new_page())
        _watch(watched, allowed)
        opened.append((context, watched))
        watched.page.goto(url)
        return watched.page

    yield open_
    for context, watched in opened:
        watched.check()
        context.close()


def _watch(watched: Watched, allowed: str | tuple[str, ...]) -> None:
    note = watched.complaints.append

    def dismiss(dialog: Any) -> None:
        note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(sent: Any) -> None:
        if not sent.url.startswith(allowed):
            note(f"loads {sent.url}")

    page = watched.page
    page.on("request", note_request)
    page.on("console", lambda said: note(f"{said.type}: {said.text}"))
    page.on("pageerror", lambda error: note(f"error: {error}"))
    page.on("dialog", dismiss)
