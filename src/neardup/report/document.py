"""`report.html`: one file made from a finished run.

It loads nothing. Style and script are inside it, and its policy names them by their hashes, so
that a browser runs nothing else. Text of pages is either escaped by the template or part of the
JSON data, which the script turns into text nodes only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from neardup.arrays import Numbers
from neardup.local.outcome import count_pages
from neardup.local.pipeline import Outcome
from neardup.local.result import Result
from neardup.report import Language
from neardup.report.actions import shared_words
from neardup.report.findings import (
    ROOM,
    Decision,
    Room,
    SizeClass,
    cluster_sizes,
    decisions,
    hosts_of,
    read_pairs,
    sampled_pairs,
    similarity_counts,
    spread_over_hosts,
)
from neardup.report.listing import CANONICAL, RELATIONS, Listing, list_clusters, show_pairs
from neardup.report.side_by_side import LONGEST_TEXT
from neardup.report.templates import (
    ASSETS,
    CHINESE,
    STYLES,
    Translate,
    counted,
    environment,
    number,
    script_safe,
    script_safe_json,
    translator,
)

FILE = "report.html"
# In this order, as one script.
SCRIPTS = ["show.js", "clusters.js", "pairs.js", "actions.js", "views.js"]
DECISION_NAMES = {
    Decision.JOINED: "In one cluster",
    Decision.RELATED: "Related, kept apart",
    Decision.REJECTED: "Rejected",
}


def write_report(folder: Path, outcome: Outcome, language: Language, room: Room = ROOM) -> None:
    """Write `report.html` into a folder that already has its tables and its summary."""
    document = report_document(Result(folder).summary, outcome, language, room)
    (folder / FILE).write_text(document, encoding="utf-8", newline="\n")


def report_document(
    summary: Mapping[str, Any], outcome: Outcome, language: Language, room: Room = ROOM
) -> str:
    """The report on a run with this summary. `outcome` may be about a sample of its pages, which
    the report then says."""
    corpus, judged, t = outcome.corpus, outcome.judged, translator(language)
    counts, in_sample = summary["counts"], summary["counts"]
    is_sample = len(corpus) < counts["pages"]
    if is_sample:
        sizes = corpus.pages.numbers("size")
        in_sample = count_pages(outcome.labels, outcome.is_kept, sizes, 0, 0)
        in_sample |= {"pairs": judged.left.size, "rejected": 0}
    hosts = hosts_of(corpus.pages.each("url"))
    decided = decisions(judged, outcome)
    similarities = similarity_counts(judged, decided)
    listing = list_clusters(corpus, outcome, hosts, room)
    sample = read_pairs(judged, decided, sampled_pairs(judged, outcome, decided, room))
    pairs = show_pairs(judged, sample, hosts, _places(listing, outcome), room, language)
    style = _joined(STYLES)
    script = f'"use strict";\n(() => {{\n{_joined(SCRIPTS)}}})();\n'
    return str(
        environment(language=language)
        .get_template(FILE)
        .render(
            policy=_policy(style, script),
            sample=len(corpus) if is_sample else 0,
            style=style,
            script=script,
            data=_data(listing, pairs, _words(script, language)),
            language=language,
            titles=shared_words(outcome, hosts, "title"),
            descriptions=shared_words(outcome, hosts, "description"),
            method=summary["method"],
            counts=counts,
            sizes=[_size_bar(each) for each in cluster_sizes(outcome)],
            similarities=[
                (t(name), similarities[decision].tolist(), decision.name.lower())
                for decision, name in DECISION_NAMES.items()
                if similarities[decision].any()
            ],
            spread=spread_over_hosts(corpus, outcome, hosts),
            shells=summary.get("shells", {"pages": 0}),
            run=_run_details(summary, t),
            omitted=_omitted(in_sample, listing, pairs, t),
        )
    )


def _places(listing: Listing, outcome: Outcome) -> Numbers:
    """Where each page's cluster is in the listing, or -1."""
    places = np.full(outcome.labels.size, -1)
    places[listing.labels] = np.arange(len(listing.labels))
    return places[outcome.labels]


def _joined(names: list[str]) -> str:
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded or run except this very style and script."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _words(script: str, language: Language) -> dict[str, str]:
    """What the script says in a language; counts of things are put together as it runs."""
    if language == "en":
        return {}
    return {
        words: translated
        for words, translated in CHINESE.items()
        if f'"{words}"' in script or words.startswith("{count} ")
    }


def _data(listing: Listing, pairs: list[dict[str, Any]], words: Mapping[str, str]) -> str:
    """What the script shows, as JSON."""
    data = {
        "words": words,
        "relations": RELATIONS,
        "canonical": CANONICAL,
        "clusters": {name: getattr(listing, name) for name in ("count", "size", "hosts", "saved")},
        "pairs": pairs,
        "longest_text": LONGEST_TEXT,
    }
    columns = ",".join(
        f'"{name}":[{",".join(values.to_pylist())}]' for name, values in listing.pages.items()
    )
    return f'{script_safe_json(data)[:-1]},"pages":{{{script_safe(columns)}}}}}'


def _size_bar(each: SizeClass) -> tuple[str, int, str]:
    """A bar of the chart of cluster sizes: label, clusters, pages."""
    bounds = dict.fromkeys((each.least, each.most))  # once if they are the same
    return "\u2013".join(map(number, bounds)), each.clusters, number(each.pages)


def _run_details(summary: Mapping[str, Any], t: Translate) -> dict[str, list[str]]:
    """Method, options, inputs, versions and what was skipped, by name."""
    preset = "" if summary["preset"] == "default" else f", {summary['preset']} preset"
    skipped, versions = summary["skipped_by_reason"], summary["versions"]
    details = {
        t("Method"): [summary["method"] + preset],
        t("Options"): _one_line(f"{name} = {value}" for name, value in summary["options"].items()),
        t("Similarity threshold"): [f"{summary['threshold']:g}"] if "threshold" in summary else [],
        t("Page kept in each cluster"): [summary["keep"]],
        t("Excerpts count as duplicates"): [t("yes") if summary["contained"] else t("no")],
        t("Inputs"): summary["inputs"],
        t("Skipped"): _one_line(f"{count:,} {reason}" for reason, count in skipped.items()),
        t("Versions"): _one_line(f"{name} {version}" for name, version in versions.items()),
    }
    return {name: values for name, values in details.items() if values}


def _one_line(values: Iterable[str]) -> list[str]:
    line = " \u00b7 ".join(values)
    return [line] if line else []


def _omitted(
    counts: Mapping[str, int], listing: Listing, pairs: list[dict[str, Any]], t: Translate
) -> list[str]:
    """What this file does not hold, so that nobody looks for it here."""
    alone = counts["clusters"] - counts["clusters_with_duplicates"]
    clusters = counts["clusters_with_duplicates"] - len(listing.count)
    members = sum(listing.size) - sum(listing.count)
    unlisted = counts["pairs"] + counts["rejected"] - len(pairs)
    without_texts = sum(pair["texts"] is None for pair in pairs)
    omitted = [
        (alone, t("{pages} without a duplicate", pages=counted(t, alone, "page"))),
        (clusters, t("the {clusters}", clusters=counted(t, clusters, "smallest cluster"))),
        (members, t("{pages} of very large clusters", pages=counted(t, members, "page"))),
        (unlisted, counted(t, unlisted, "judged pair")),
        (without_texts, t("the texts of {pairs}", pairs=counted(t, without_texts, "listed pair"))),
    ]
    return [words for count, words in omitted if count]
