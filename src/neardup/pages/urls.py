"""URLs: one form for all the ways to write the same address.

Two URLs with the same canonical form are taken to be the address of one page. The form is for
comparing, not for fetching: http and https are the same (written http), and so are `www.` and the
bare domain, because sites that answer on both serve the same pages on both, and crawls mix them.

The tables list the parameters that track visitors, the files that stand for a folder, and the
suffixes under which domains are registered. No function here raises, whatever the string; all take
linear time; canonicalising twice changes nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import urljoin

from neardup.config import read_toml


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TABLES = read_toml(Path(__file__).with_name("urls.toml"))
TRACKING_PREFIXES = tuple(_TABLES["tracking_prefixes"].split())
TRACKING_PARAMETERS = _words(_TABLES["tracking_parameters"])
SESSION_PARAMETERS = _words(_TABLES["session_parameters"])
SHARE_VALUES = {name: _words(values) for name, values in _TABLES["share_values"].items()}
INDEX_FILES = _words(_TABLES["index_files"])
PUBLIC_SECOND_LEVELS = _words(_TABLES["public_second_levels"])
PUBLIC_SUFFIXES = _words(_TABLES["public_suffixes"])

_WEB = re.compile(r"(?:(https?):)?//([^/?#\\]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.I | re.S)
_PORT = re.compile(r":(\d*)$")
_PLAIN_HOST = re.compile(r"[a-z0-9.-]+")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/_~,:;=@!$&'()*+-]*(?:\.[A-Za-z0-9_~-][A-Za-z0-9/_~,:;=@-]*)?")
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9/_~,:;=@!$&'()*+.?-]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})|(%)|([^A-Za-z0-9/_~,:;=@!$&'()*+.?-])")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)=[^/;]*", re.I)
_LONG_TOKEN = re.compile(r"(?=.*\d)[A-Za-z0-9_-]{16,}")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_HOST_LENGTH = 255  # of a DNS label; longer names are escaped, not encoded
_EDGES = "".join(map(chr, range(33))) + "\u00a0\u3000\ufeff"


def canonicalise(url: str) -> str:
    """The one form of a web address; anything else comes back as it is, trimmed."""
    url = url.strip(_EDGES)
    match = _WEB.fullmatch(url)
    if not match:
        return url
    scheme, authority, path, query, fragment = match.groups()
    name = _fold_www(_authority(authority, scheme or "http"))
    if not name:
        return url
    address = f"http://{name}{_path(path)}"
    if query and (kept := _query(query)):
        address += f"?{kept}"
    if fragment and fragment.startswith("!"):  # #! names a page; any other fragment, a place in it
        address += "#" + _escape(fragment)
    return address


def host(url: str) -> str:
    """The host name: lower case, ASCII, without port; empty if there is none."""
    match = _WEB.match(url.strip(_EDGES))
    if not match:
        return ""
    return _PORT.sub("", _authority(match[2], "")) if match[2] else ""


@lru_cache(maxsize=65_536)  # crawls have far fewer hosts than pages
def site(host: str) -> str:
    """The registered domain: the public suffix and one label before it."""
    labels = host.split(".")
    if len(labels) < 3 or ":" in host or _IPV4.fullmatch(host):
        return host
    return ".".join(labels[-_suffix_labels(labels) - 1 :])


def _suffix_labels(labels: list[str]) -> int:
    if ".".join(labels[-3:]) in PUBLIC_SUFFIXES:
        return 3
    second, top = labels[-2:]
    if f"{second}.{top}" in PUBLIC_SUFFIXES or second == "blogspot":
        return 2
    return 2 if len(top) == 2 and second in PUBLIC_SECOND_LEVELS else 1


def believable_canonical(page_url: str, declared: str, base: str) -> str:
    """The canonical form of what a page declares as its own URL, or "" when not believed.

    Believed only on the page's own site, and not when an inner page points at the front page (a
    template's mistake that would make the whole site one page). A page of unknown URL has nothing
    to check against: "".
    """
    return believed(canonicalise(page_url), canonicalise(_resolve(page_url, declared, base)))


def believed(page: str, declared: str) -> str:
    """The same of canonical forms."""
    declared_host = _host_of_canonical(declared)
    if not declared_host or site(declared_host) != site(_host_of_canonical(page)):
        return ""
    if _is_front(declared) and not _is_front(page):
        return ""
    return declared


_CANONICAL = re.compile(r"http://([a-z0-9.-]+)/")


def _host_of_canonical(address: str) -> str:
    """`host`, in short where the address is as `canonicalise` writes most of them."""
    match = _CANONICAL.match(address)
    return match[1].strip(".") if match else host(address)


def _resolve(page_url: str, declared: str, base: str) -> str:
    declared, base = declared.strip(_EDGES), base.strip(_EDGES)
    if declared.startswith(("http://", "https://")):
        return declared  # joining would change nothing, slowly
    try:
        return urljoin(urljoin(page_url, base), declared) if declared else ""
    except ValueError:
        return ""


def _is_front(address: str) -> bool:
    return address.count("/") == 3 and address.endswith("/")


def _authority(authority: str, scheme: str) -> str:
    """Host and port; the port goes when it is the scheme's own, or, without a scheme, always."""
    name = authority.rpartition("@")[2].lower()
    port = ""
    if match := _PORT.search(name):
        name, digits = name[: match.start()], match[1].lstrip("0")
        # http and https are one, so either's port is the default
        port = f":{digits}" if scheme and digits not in ("", "80", "443") else ""
    if not _PLAIN_HOST.fullmatch(name):
        name = _ascii_host(name)
    return name.strip(".") + port if name.strip(".") else ""


@lru_cache(maxsize=4096)
def _ascii_host(name: str) -> str:
    """Punycode; what cannot be, escaped."""
    if not name.isascii() and len(name) <= _HOST_LENGTH:
        try:
            name = name.encode("idna").decode("ascii").lower()
        except UnicodeError:
            name = name.lower()
    if name.startswith("[") and name.endswith("]"):
        return "[" + re.sub(r"[^0-9a-f:.]", "", name) + "]"
    return _escape(name.replace(":", "%3A").replace("/", "%2F").replace("@", "%40")).lower()


def _fold_www(name: str) -> str:
    start = 0
    while name.startswith("www.", start) and name.find(".", start + 4) >= 0:
        start += 4
    return name[start:]


def _path(path: str) -> str:
    """Escapes in one form, dot segments, sessions, index files and trailing slashes gone."""
    if "\\" in path:
        path = path.replace("\\", "/")
    plain = _PLAIN_PATH.fullmatch(path)
    if not plain:
        path = _escape(path, "?")
    if ";" in path:
        path = _PATH_SESSION.sub("", path)
    return _fold_end(path if plain else _without_dots(path)) or "/"


def _fold_end(path: str) -> str:
    end = len(path)
    while True:
        while end and path[end - 1] == "/":
            end -= 1
        start = path.rfind("/", 0, end) + 1
        if path[start:end].lower() not in INDEX_FILES:
            return path[:end]
        end = start


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _escape(text: str, also: str = "") -> str:
    """Percent-encoding in its one form: upper case, nothing escaped that need not be."""

    def one(match: re.Match[str]) -> str:
        digits, stray, other = match.groups()
        if digits:
            char = chr(int(digits, 16))
            return char if char in _UNRESERVED else f"%{digits.upper()}"
        return "%25" if stray else _percent(other)

    if not _PLAIN_QUERY.fullmatch(text):
        text = _ESCAPE.sub(one, text)
    for char in also:
        text = text.replace(char, _percent(char))
    return text


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _query(query: str) -> str:
    """Parameters in order, without those that follow the visitor rather than name the page."""
    if not _PLAIN_QUERY.fullmatch(query):
        query = _escape(query)
    parts = [part for part in query.split("&") if part and not _is_noise(part)]
    if len(parts) > 1:
        parts.sort()
    return "&".join(parts)


def _is_noise(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in TRACKING_PARAMETERS or name.startswith(TRACKING_PREFIXES):
        return True
    if name in SESSION_PARAMETERS:  # names that sites use for other things too: sid=12 is a story
        return bool(_LONG_TOKEN.fullmatch(value))
    return name in SHARE_VALUES and value.lower() in SHARE_VALUES[name]
