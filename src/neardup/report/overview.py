"""The first view of the report: what was found. Plain HTML that reads without any script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.report.charts import Bar, bar_chart, histogram, meter, proportions
from neardup.report.figures import percent, plural, size, visible
from neardup.report.findings import Decision, HostFindings, SizeClass, Spread

HOSTS_AT_FIRST = 12
DECISION_NAMES = {
    Decision.JOINED: "In one cluster",
    Decision.RELATED: "Related, kept apart",
    Decision.REJECTED: "Rejected",
}


def headline(counts: Mapping[str, int]) -> str:
    """The finding in one sentence."""
    pages, duplicates = counts["pages"], counts["duplicates"]
    left = counts["bytes"] - counts["duplicate_bytes"]
    if not duplicates:
        return f"None of {plural(pages, 'page')} repeats another."
    verb = "repeats" if duplicates == 1 else "repeat"
    return (
        f"<b>{duplicates:,}</b> of {plural(pages, 'page')} {verb} another page. Without them, "
        f"{size(counts['bytes'])} become <b>{size(left)}</b>."
    )


def kept_and_dropped(counts: Mapping[str, int]) -> str:
    """Pages to keep, duplicates and undecided pages as one bar."""
    return proportions(
        "Pages to keep and pages that repeat them",
        [
            ("Pages to keep", counts["kept"], "kept"),
            ("Duplicates", counts["duplicates"], "joined"),
        ],
    )


def tiles(counts: Mapping[str, int]) -> str:
    """The counts that matter."""
    shown = [
        (
            f"{counts['duplicates']:,}",
            "duplicate pages",
            percent(counts["duplicates"], counts["pages"]) + " of all",
        ),
        (
            size(counts["duplicate_bytes"]),
            "saved",
            percent(counts["duplicate_bytes"], counts["bytes"]) + " of all bytes",
        ),
        (
            f"{counts['clusters_with_duplicates']:,}",
            "clusters with duplicates",
            f"the largest of {plural(counts['largest_cluster'], 'page')}",
        ),
        (
            f"{counts['pairs'] + counts['rejected']:,}",
            "pairs judged",
            f"{counts['rejected']:,} rejected",
        ),
        (f"{counts['undecided']:,}", "pages undecided", "too little text to tell"),
        (f"{counts['skipped']:,}", "records skipped", "could not be read as a page"),
    ]
    return "".join(
        f"<div><dt>{name}</dt><dd><b>{escape(value)}</b><span>{escape(note)}</span></dd></div>"
        for value, name, note in shown
    )


def sizes_chart(sizes: Sequence[SizeClass]) -> str:
    """How large the clusters are."""
    if not sizes:
        return '<p class="empty">Every page stands alone.</p>'
    bars = [Bar(_size_label(each), each.clusters, f"{each.pages:,}") for each in sizes]
    return bar_chart("Clusters by number of pages", ("Pages each", "Clusters", "Pages"), bars)


def _size_label(each: SizeClass) -> str:
    return f"{each.least:,}" if each.least == each.most else f"{each.least:,}\u2013{each.most:,}"


def similarity_charts(counts: NDArray[np.int64]) -> str:
    """How alike the judged pairs are, by what became of them."""
    if not counts.sum():
        return '<p class="empty">No pair of pages was similar enough to be judged.</p>'
    charts = [
        histogram(name, counts[decision].tolist(), decision.name.lower())
        for decision, name in DECISION_NAMES.items()
        if counts[decision].sum()
    ]
    ticks = "".join(f"<span>{tick}</span>" for tick in ("0", "0.25", "0.5", "0.75", "1"))
    return (
        f'<div class="histograms">{"".join(charts)}<div class="ticks" aria-hidden="true">{ticks}'
        "</div></div>"
    )


def hosts_table(spread: Spread) -> str:
    """Duplicates by host."""
    if not spread.all_hosts:
        return '<p class="empty">The pages came without URLs, so nothing is known of hosts.</p>'
    if not spread.hosts:
        return '<p class="empty">No host has a duplicate.</p>'
    across = (
        f"<p>{plural(spread.within_host, 'duplicate')} of a page on the same host, "
        f"{spread.across_hosts:,} of a page elsewhere.</p>"
    )
    first, rest = spread.hosts[:HOSTS_AT_FIRST], spread.hosts[HOSTS_AT_FIRST:]
    told = _table_of_hosts("Hosts with most duplicates", first)
    if rest:
        told += f'<details class="more"><summary>Show {plural(len(rest), "more host")}</summary>'
        told += _table_of_hosts("More hosts", rest) + "</details>"
    more = spread.all_hosts - len(spread.hosts)
    left_out = f'<p class="note">{plural(more, "other host")} with fewer duplicates or none.</p>'
    return f"{across}{told}{left_out if more else ''}"


def _table_of_hosts(caption: str, hosts: Sequence[HostFindings]) -> str:
    rows = "".join(_host_row(host) for host in hosts)
    return (
        f'<div class="wide"><table class="hosts"><caption>{caption}'
        "</caption><thead><tr><th scope=col>Host<th scope=col>Pages<th scope=col>Duplicates"
        "<th scope=col>Share<th scope=col>Bytes saved</thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _host_row(host: HostFindings) -> str:
    return (
        f"<tr><th scope=row><bdi>{escape(visible(host.name))}</bdi>"
        f'<td class="number">{host.pages:,}<td class="number">{host.duplicates:,}'
        f'<td class="share">{meter(host.duplicates / host.pages)}'
        f"<span>{percent(host.duplicates, host.pages)}</span>"
        f'<td class="number">{size(host.duplicate_bytes)}'
    )


def run_details(summary: Mapping[str, Any]) -> str:
    """Method, options, inputs, versions and what was skipped, as a list of terms."""
    options = summary["options"]
    skipped = summary["skipped_by_reason"]
    versions = summary["versions"]
    terms = {
        "Method": [summary["method"] + ("" if summary["preset"] == "default" else ", as printed")],
        "Options": _in_one_line(f"{name} = {value}" for name, value in options.items()),
        "Near from similarity": [f"{summary['threshold']:g}"] if "threshold" in summary else [],
        "Kept of each cluster": [summary["keep"]],
        "Excerpts joined": ["yes" if summary["contained"] else "no"],
        "Inputs": summary["inputs"],
        "Skipped": _in_one_line(f"{count:,} {reason}" for reason, count in skipped.items()),
        "Versions": _in_one_line(f"{name} {number}" for name, number in versions.items()),
    }
    return "".join(_term(name, values) for name, values in terms.items() if values)


def _in_one_line(values: Iterable[str]) -> list[str]:
    line = " \u00b7 ".join(values)
    return [line] if line else []


def _term(name: str, values: Sequence[str]) -> str:
    shown = [f"<dd><bdi>{escape(visible(value))}</bdi></dd>" for value in values[:50]]
    more = f"<dd>and {len(values) - 50:,} more</dd>" if len(values) > 50 else ""
    return f"<div><dt>{name}</dt>{''.join(shown)}{more}</div>"
