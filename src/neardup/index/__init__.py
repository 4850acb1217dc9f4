"""The online index: the pages a crawler has seen, and how each new page relates to them."""

from neardup.index.answers import (
    Answer,
    Change,
    Changes,
    ClusterSummary,
    Event,
    Feedback,
    Rechecked,
    StoredPage,
)
from neardup.index.index import Index

__all__ = [
    "Answer",
    "Change",
    "Changes",
    "ClusterSummary",
    "Event",
    "Feedback",
    "Index",
    "Rechecked",
    "StoredPage",
]
