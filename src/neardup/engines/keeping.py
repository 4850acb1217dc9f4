"""A second reading of the input that writes the kept pages, in the form they came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.engines.clustering import Clustering
from neardup.engines.parsing import Spilled
from neardup.engines.run import Run
from neardup.model import RawPage
from neardup.pages import Limits, read
from neardup.pages.write import writer_for
from neardup.text.charset import to_utf8


def write_kept_pages(
    path: Path,
    inputs: Sequence[str],
    limits: Limits,
    spilled: Spilled,
    clustering: Clustering,
    run: Run,
) -> None:
    """Write every kept page of `inputs` to `path`, in the order they are read."""
    rows = pa.array(np.unique(clustering.kept))
    sources = spilled.pages["source"].take(rows).to_pylist()
    places = zip(sources, spilled.pages["record"].take(rows).to_pylist(), strict=True)
    ids = dict(zip(places, spilled.ids.take(rows).to_pylist(), strict=True))
    with run.stages("keep", total=len(ids)) as stage, writer_for(path) as writer:
        for raw in read(inputs, limits, keep_original=True):
            id_ = ids.get((raw.source.path, raw.source.record))
            if isinstance(raw, RawPage) and id_ is not None:
                text = to_utf8(raw.body, raw.charset)[0].decode()
                writer.write(replace(raw, id=id_), text)
                stage.advance(1, len(raw.body))
