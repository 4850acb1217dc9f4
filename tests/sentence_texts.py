"""The sentences of a text, by the kernel, as strings."""

from __future__ import annotations

import numpy as np

from neardup.kernels.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    """The sentences of `text` in order, without the white space around them."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    starts, ends, _ = sentence_spans(data, np.array([0, len(data)], np.int64))
    content = data.tobytes()
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [content[start:end].decode("utf-8") for start, end in spans]
