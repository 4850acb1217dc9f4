"""What readers accept: how large a page may be, and which columns hold what.

The limits are the budget of a page. They count bytes, characters and layers, never seconds, so the
same input is read in the same way on every machine; a record beyond one of them is skipped and
counted with its reason. All later work takes time and memory that are linear in the bytes of a
page (`tests/kernels/test_linear_time.py`); what could grow faster is bounded where it happens: open
elements (`kernels.scan_tree.MAX_DEPTH`), pieces to assemble (`kernels.scan_assembly.MAX_PIECES`),
statements of a page about itself (`text.metadata.LONGEST`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from neardup.pages.columns import Columns


@dataclass(frozen=True, slots=True)
class Limits:
    """`page_bytes` bounds a page after all decompression, while it is being decompressed.

    `columns` names the columns of tables and the fields of JSON lines that hold a page. `base_url`
    is the URL of a folder of pages.
    """

    page_bytes: int = 20_000_000
    columns: Columns = field(default_factory=Columns)
    base_url: str = ""

    def url_of(self, name: str) -> str:
        """The URL of the file of that name in a folder of pages; empty if it is not known.

        The index of a folder has the URL of the folder, as servers give it.
        """
        if not self.base_url:
            return ""
        folder, _, file = name.rpartition("/")
        path = f"{folder}/" if folder else ""
        if file.lower() not in ("index.html", "index.htm"):
            path += file
        return self.base_url.rstrip("/") + "/" + quote(path, safe="/~!$&'()*+,;=:@")

    @property
    def line_bytes(self) -> int:
        """The longest JSON line read: escapes can double a page, and other fields need room."""
        return 2 * self.page_bytes + 1_000_000

    @property
    def block_bytes(self) -> int:
        """The longest WARC block read whole: a page with its HTTP head."""
        return self.page_bytes + HEAD_BYTES


URL_LENGTH = 8192  # characters; browsers and servers accept no longer ones
FIELD_LENGTH = 65_536  # characters of the id or the title that a record states
CODINGS = 4  # of a response, one in another; each may decode to as much as a page
HEAD_BYTES = 65_536  # the longest head of a WARC record or HTTP response that is read
