"""Logs as lines of JSON. Of pages they hold nothing: no text, no title, no address."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from neardup.errors import NeardupError

LOG = logging.getLogger("neardup.service")


class JsonLines(logging.Formatter):
    """One line a message; what is in `fields` stands beside it."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told |= described(record.exc_info[1])
        return json.dumps(told)


def described(error: BaseException) -> dict[str, Any]:
    """An error without what it says, unless it is our own: others may quote a page."""
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    told: dict[str, Any] = {
        "error": type(error).__name__,
        "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if isinstance(error, NeardupError):
        told["message"] = str(error)
    return told


def log_config(level: str) -> dict[str, Any]:
    """For `logging.config.dictConfig`: everything goes to standard error as JSON lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "neardup.service.logs.JsonLines"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "loggers": {
            name: {"handlers": ["stderr"], "level": level.upper(), "propagate": False}
            for name in ("uvicorn", "neardup.service")
        },
    }
