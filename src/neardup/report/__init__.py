"""What a run leaves for people: a report (one HTML file), spreadsheets, actions."""

from neardup.report.actions import write_actions
from neardup.report.templates import Language

__all__ = ["Language", "write_actions"]
