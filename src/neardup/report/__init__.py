"""The report that a run leaves beside its tables: one HTML file for people."""

from neardup.report.document import write_report

__all__ = ["write_report"]
