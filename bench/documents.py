"""Pages and documents to measure on, from the files in the data directory."""

from __future__ import annotations

import random
from pathlib import Path

from neardup.model import RawPage
from neardup.pages.readers import read, read_records
from neardup.text.parse import parse

CHARACTERS = 5_000  # of a document, at most
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def read_pages(path: Path) -> list[RawPage]:
    """The pages of a file, decompressed."""
    return [page for page in read_records([str(path)]) if isinstance(page, RawPage)]


def make_documents(path: Path, count: int) -> list[str]:
    """`count` documents of at most `CHARACTERS`, each cut from a random page at a random line.

    A labelled set has too few pages to measure a rate, and their lengths differ too much.
    """
    pages = [text for batch in read([str(path)]) for text in parse(batch.pages)["text"].to_pylist()]
    texts = [text for text in pages if len(text) >= 1_000]
    chance = random.Random(1)
    documents = []
    for _ in range(count):
        text = chance.choice(texts)
        start = text.rfind("\n", 0, chance.randrange(max(len(text) - CHARACTERS, 1)) + 1) + 1
        documents.append(text[start : start + CHARACTERS])
    return documents
