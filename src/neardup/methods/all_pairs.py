"""The limit of methods that have no way around looking at every pair."""

from __future__ import annotations

from neardup.errors import UsageError


def check_page_count(method: str, pages: int, maximum_pages: int) -> None:
    """Refuse a run that would take a time nobody asked for."""
    if pages > maximum_pages:
        raise UsageError(
            f"{method} looks at all pairs, and {pages} pages are more than its maximum_pages of "
            f"{maximum_pages}; raise it (the time grows with the square) or take another method"
        )
