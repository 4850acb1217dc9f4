"""What a run leaves for people: a report (one HTML file), spreadsheets, actions."""

from typing import Literal

from neardup.report.actions import write_actions

__all__ = ["Language", "write_actions"]

Language = Literal["en", "zh"]  # of the report; `templates` has the words, and loads Jinja
