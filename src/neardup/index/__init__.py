"""The online index: what a crawler has seen, and what each new page is to it."""

from neardup.index.answers import (
    Answer,
    ClusterSummary,
    Event,
    Feedback,
    Rechecked,
    StoredPage,
)
from neardup.index.index import Index

__all__ = [
    "Answer",
    "ClusterSummary",
    "Event",
    "Feedback",
    "Index",
    "Rechecked",
    "StoredPage",
]
