"""What one crawl knows: the index, the budget, the traps, and Scrapy's stats."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from neardup.errors import NeardupError
from neardup.index import Answer, Index
from neardup.integrations.scrapy.budget import Budget
from neardup.integrations.scrapy.checking import Checking
from neardup.integrations.scrapy.settings import CrawlSettings
from neardup.integrations.scrapy.traps import Traps
from neardup.model import RawPage, Relation
from neardup.pages.url import host

logger = logging.getLogger("neardup")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about a page. A copy is a duplicate that its cluster's budget refuses."""

    answer: Answer
    is_copy: bool
    host: str

    @property
    def nothing_new(self) -> bool:
        """Whether the page has no text that was not seen before."""
        return self.is_copy or self.answer.relation is Relation.UNDECIDED


class Crawl:
    """Everything that the middleware and the pipeline of one crawl share."""

    def __init__(self, settings: CrawlSettings, stats: Any) -> None:
        index = Index.open(
            settings.store, settings.method, settings.options, keep_text=settings.keep_text
        )
        self.settings = settings
        self._stats = stats
        self._checking = Checking(index, Budget(index, settings.cluster_budget))
        self._traps = Traps(settings.trap_pages, settings.trap_share)

    async def look_at(self, page: RawPage | str) -> Finding | None:
        """What a page is; None, with a count of the reason, for what was not looked at."""
        if isinstance(page, str):
            self.count(f"unchecked/{page}")
            return None
        try:
            answer, passes = await self._checking.add(page)
        except Exception as error:  # the crawl goes on: its pages are worth more than our answer
            self.count("errors")
            ours = isinstance(error, NeardupError)
            logger.error("%s passes without a check: %s", page.id, error, exc_info=not ours)
            return None
        finding = Finding(answer, not passes, host(page.url))
        self._count_page(finding)
        self._watch(finding)
        return finding

    def follows_links_of(self, finding: Finding | None) -> bool:
        """Whether links found on a page are followed."""
        if finding is None:
            return True
        if finding.is_copy and not self.settings.follow_duplicates:
            return False
        in_trap = finding.nothing_new and self._traps.holds(finding.host)
        return not (in_trap and self.settings.trap_action == "stop")

    def count(self, name: str) -> None:
        """One more of these in Scrapy's stats."""
        self._stats.inc_value(f"neardup/{name}")

    def close(self) -> None:
        """Finish what waits, and let go of the store."""
        self._checking.close()

    def _count_page(self, finding: Finding) -> None:
        answer = finding.answer
        self.count("pages")
        if answer.duplicate:
            self.count("pages/duplicate")
            self.count(f"pages/duplicate/{answer.relation}")
            if not finding.is_copy:
                self.count("pages/within_budget")
        elif answer.relation is Relation.UNDECIDED:
            self.count("pages/undecided")
        else:
            self.count("pages/new")
        if answer.known:
            self.count("pages/known")

    def _watch(self, finding: Finding) -> None:
        """Warn once of each host that has become a trap."""
        if not self._traps.note(finding.host, nothing_new=finding.nothing_new):
            return
        self.count("traps")
        self._stats.set_value(f"neardup/traps/{finding.host}", finding.answer.id)
        logger.warning(
            "%s may be a crawl trap: %d of its last %d pages have nothing new, the latest is %s "
            "(%s). %s",
            finding.host,
            self._traps.copies(finding.host),
            self.settings.trap_pages,
            finding.answer.id,
            f"{finding.answer.relation}, of {finding.answer.of}"
            if finding.is_copy
            else "too little text to tell",
            "Links found on such pages are not followed from now on."
            if self.settings.trap_action == "stop"
            else "Links found on them are followed; NEARDUP_TRAP_ACTION = 'stop' changes that.",
        )
