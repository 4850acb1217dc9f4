"""Times as records state them, always with a time zone; what cannot be read is no time."""

from __future__ import annotations

from datetime import UTC, datetime

_MILLISECONDS = 1e11  # as seconds, the year 5138: a larger number counts milliseconds


def parse_time(value: object) -> datetime | None:
    """From ISO 8601, epoch seconds or milliseconds, or a datetime; without a zone it is UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) > _MILLISECONDS else value
            value = datetime.fromtimestamp(seconds, UTC)
        if not isinstance(value, datetime):
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_arc_time(digits: str) -> datetime | None:
    """From the YYYYMMDDhhmmss of an ARC header."""
    try:
        return datetime.strptime(digits[:14].ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def format_time(time: datetime) -> str:
    """ISO 8601 in UTC, as WARC writes it."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")
