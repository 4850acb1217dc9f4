"""Add pages to a shared index: `python adding_process.py URL PAGES.json`.

Once the index is open, there is a file PAGES.open.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from neardup import Index, text_page


def main(url: str, path: str) -> None:
    logging.disable()  # a server that is away is no news here
    pages = [
        text_page(each["text"], id=each["id"], url=each["url"])
        for each in json.loads(Path(path).read_text("utf-8"))
    ]
    with Index.open(url) as index:
        Path(path).with_suffix(".open").touch()
        for start in range(0, len(pages), 3):
            index.add_many(pages[start : start + 3])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
