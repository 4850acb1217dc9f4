"""Methods by name: those of this package, those of others, and any class by `module:Class`.

Another package adds methods under names in the entry point group `neardup.methods`. Wherever a
method is accepted (Python, the command line, `evaluate`, a store), it may be a name, a class, an
instance or `module:Class`. Stores and results remember `reference(method)`, from which
`make_method` makes the method again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name

from neardup.config import build_options, describe_options
from neardup.errors import UsageError, unknown
from neardup.methods.base import Method
from neardup.plugins import Registry
from neardup.text.views import View

DEFAULT_METHOD = "own-text"

# A method's module is imported when the method is first used.
BUILT_IN: Mapping[str, str] = {
    "own-text": "neardup.methods.own_text.method:OwnText",
    "edit-distance": "neardup.methods.edit_distance:EditDistance",
    "two-phase": "neardup.methods.two_phase:TwoPhase",
    "news-clusters": "neardup.methods.news_clusters.method:NewsClusters",
    "word-table": "neardup.methods.word_table:WordTable",
    "feature-code": "neardup.methods.feature_code:FeatureCode",
    "exact": "neardup.methods.exact:Exact",
    "simhash": "neardup.methods.simhash:Simhash",
    "minhash": "neardup.methods.minhash:Minhash",
    "supershingle": "neardup.methods.supershingle:Supershingle",
    "i-match": "neardup.methods.i_match:IMatch",
    "spotsigs": "neardup.methods.spotsigs:SpotSigs",
    "chunk-hash": "neardup.methods.chunk_hash:ChunkHash",
}

METHODS: Registry[object] = Registry("neardup.methods", BUILT_IN)

MethodLike = str | type[Method] | Method


def method_names() -> list[str]:
    """The names of all methods: those of this package first."""
    return METHODS.names


def method_class(method: str | type[Method]) -> type[Method]:
    """The class of a method by its name or `module:Class`, or an error that lists the names."""
    cls: object = method
    if isinstance(method, str):
        try:
            cls = METHODS.get(method) or (resolve_name(method) if ":" in method else None)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"there is no method {method!r}: {error}") from None
        if cls is None:
            raise unknown("method", method, method_names())
    if not (isinstance(cls, type) and issubclass(cls, Method)):
        name = getattr(method, "__name__", method)
        raise UsageError(f"{name!r} is not a method: it does not derive from neardup.Method")
    return cls


def reference(method: Method) -> str:
    """What `make_method` makes the same method from: its name, or `module:Class`."""
    cls = type(method)
    if METHODS.get(method.name) is cls:
        return method.name
    return f"{cls.__module__}:{cls.__qualname__}"


def make_method(
    method: MethodLike,
    values: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    view: str | None = None,
    threshold: float | None = None,
    stored: bool = False,
) -> Method:
    """A method with its options: the preset's, overridden by `values`.

    `threshold` is the similarity, from 0 to 1, from which pairs are near; methods without such a
    similarity refuse it. `stored` values may come from an earlier version, so old names in them
    cause no warning.
    """
    if isinstance(method, Method):
        if values or view or threshold is not None or preset not in (None, "default"):
            raise UsageError(f"{method.name} already has its options: pass no others")
        return method
    cls = method_class(method)
    if preset not in (None, "default", "paper"):
        raise unknown("preset", preset, ("default", "paper"))
    is_paper = preset == "paper"
    if is_paper and not cls.paper_preset:
        raise UsageError(f"{cls.name} has no paper preset: its default is its rule")
    options = {**(cls.paper_preset if is_paper else {}), **(values or {})}
    if threshold is not None:
        options |= _threshold(cls, threshold, values or {})
    old_view = _old_view(cls, options)
    chosen = read_view(view) or old_view or (cls.paper_view if is_paper else None)
    built: object = build_options(cls.Options, options, owner=cls.name, warn=not stored)
    return cls(built, chosen)


def every_method(preset: str | None, view: str | None = None) -> list[Method]:
    """All methods of this package, with the preset where they have it."""
    return [
        make_method(name, preset=preset if method_class(name).paper_preset else None, view=view)
        for name in BUILT_IN
    ]


def _threshold(
    cls: type[Method], threshold: float, values: Mapping[str, object]
) -> dict[str, object]:
    """The method's option for a threshold; an error if it has none, or if it is set twice."""
    name = threshold_option(cls)
    if name is None:
        has = ", ".join(info.name for info in describe_options(cls.Options)) or "no options"
        raise UsageError(f"{cls.name} has no similarity threshold; its options are: {has}")
    if name in values:
        raise UsageError(f"the threshold of {cls.name} is set twice: as threshold and as {name}")
    return {name: threshold}


def threshold_option(cls: type[Method]) -> str | None:
    """The option that holds the least similarity of near pages, where the method has one."""
    names = {info.name for info in describe_options(cls.Options) if info.type == "float"}
    return cls.threshold_option if cls.threshold_option in names else None


def _old_view(cls: type[Method], options: dict[str, object]) -> View | None:
    """The view chosen by an option that is older than views, if the method had one."""
    if cls.view_option is None or cls.view_option not in options:
        return None
    value = str(options.pop(cls.view_option)).lower()
    return View.OWN if value in ("true", "yes", "on", "1") else View.MAIN


def read_view(name: str | None) -> View | None:
    """The view of that name, or an error that lists them."""
    if name is None:
        return None
    try:
        return View(name)
    except ValueError:
        raise unknown("view", name, View) from None
