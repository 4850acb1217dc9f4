"""What a generated set is to hold: its settings, and the profiles that fix its proportions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from neardup.errors import UsageError, unknown

LANGUAGES = ("en", "zh", "both")
LENGTHS = {"short": (6, 12), "normal": (14, 60)}  # sentences


@dataclass(frozen=True)
class Profile:
    """Proportions of a set. A published profile never changes, so that figures can be compared;
    docs/synth.md gives the reasons for the values."""

    lookalikes: tuple[tuple[str, float], ...]  # groups of pages that only look alike: share of each
    copies: float = 0.0  # share of pages that are copies of another page of their host
    edited_titles: float = 0.0  # share of reprints
    other_titles: float = 0.0  # share of reprints
    late: float = 0.0  # share of reprints that come more than five days after the original
    stock: float = 0.0  # share of articles with a stock sentence, and of publications adding one
    consent: float = 0.0  # share of hosts with a long consent text on every page
    counters: float = 0.0  # share of hosts that show today's date and how often a page was read
    once_a_host: bool = False  # a host publishes an article once, or again under the same title
    few_alike: bool = (
        False  # groups of look-alikes have 2 to 4 pages, not 4 to 11; only lists have copies
    )
    indexed_urls: bool = False  # a URL ends in the page's index, so copies cannot share a path


PROFILES = {
    "2026-11": Profile(lookalikes=(("form", 0.004),), indexed_urls=True),
    "2026-12": Profile(
        lookalikes=(
            ("form", 0.004),
            ("product", 0.004),
            ("listing", 0.004),
            ("bulletin", 0.004),
            ("shell", 0.002),
        ),
        copies=0.25,
        edited_titles=0.3,
        other_titles=0.3,
        late=0.15,
        stock=0.2,
        consent=0.2,
        counters=0.5,
        once_a_host=True,
        few_alike=True,
    ),
}
DEFAULT_PROFILE = "2026-12"


@dataclass(frozen=True)
class Settings:
    pages: int
    seed: int = 0
    profile: str = DEFAULT_PROFILE
    language: str = "both"  # or en, zh
    length: str = "normal"  # or short
    days: int = 30
    reprints: float = 0.5  # share of reprints, of the pages that are not copies on their own host
    copies: float | None = None  # share of pages that are such copies; None: the profile's
    texts: bool = False  # plain text, no templates
    lookalikes: bool = True  # include groups of pages that only look alike
    template_stops: bool = True  # full stops in footers, comments and consent texts
    pages_per_host: int = 8  # on average; a few hosts have many, most have few

    @property
    def hosts(self) -> int:
        """Hosts of each language."""
        languages = 2 if self.language == "both" else 1
        return max(6, self.pages // self.pages_per_host // languages)

    @property
    def proportions(self) -> Profile:
        return PROFILES[self.profile]

    def checked(self) -> Settings:
        """The settings with the profile's defaults; an error says which setting is wrong."""
        if min(self.pages, self.days, self.pages_per_host) < 1:
            raise UsageError("a set needs at least 1 page, 1 day and 1 page per host")
        for name, value, known in (
            ("profile", self.profile, tuple(PROFILES)),
            ("language", self.language, LANGUAGES),
            ("length", self.length, tuple(LENGTHS)),
        ):
            if value not in known:
                raise unknown(name, value, known)
        if not 0 <= self.reprints <= 0.9:
            raise UsageError(f"the share of reprints must be from 0 to 0.9, not {self.reprints}")
        copies = self.proportions.copies if self.copies is None else self.copies
        if not 0 <= copies <= 0.8:
            raise UsageError(f"the share of copies must be from 0 to 0.8, not {copies}")
        if copies and self.proportions.indexed_urls:
            raise UsageError(f"profile {self.profile} has no copies on a page's own host")
        return replace(self, copies=copies)
