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
from urllib.parse import urljoin


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parameters that say who came or how, never which page. Lower case.
TRACKING_PREFIXES = (
    "utm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_", "aspsessionid", "trk_", "guce_referrer",
)  # fmt: skip
TRACKING_PARAMETERS = _words("""
    gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid srsltid fbclid fb_action_ids
    fb_action_types fb_source fb_ref msclkid yclid ysclid ymclid _openstat twclid ttclid igshid igsh
    li_fat_id epik s_kwcid ef_id mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hssc __hstc __hsfp
    hsctatracking oly_anon_id oly_enc_id vero_id vero_conv wickedid rb_clickid s_cid irclickid
    cmpid ncid ocid ns_campaign ns_mchannel ns_source ns_linkname ns_fee wt_mc wt_zmc wt.mc_id
    wt.mc_ev trk trkcampaign trkinfo sc_campaign sc_channel at_medium at_campaign at_custom1 xtor
    ref_src ref_url referrer guccounter smid smtyp __twitter_impression
    spm scm spm_id_from vd_source share_token share_source share_medium share_plat share_tag
    share_session_id share_from share_uid share_times from_source from_spmid unique_k bd_vid bdref
    hmsr hmpl hmcu hmkw hmci qhclickid isappinstalled nsukey wfr weixin_share wxshare_count
    phpsessid jsessionid asp.net_sessionid cfid cftoken zenid oscsid sessid sessionid session_id
""")
# Session names that mean something else on other sites: dropped when the value is a long token.
SESSION_PARAMETERS = _words("sid s session sess")
# Parameters that are noise only with these values (shared from a messenger).
SHARE_VALUES = {
    "from": _words("singlemessage groupmessage timeline message"),
    "tt_from": _words("weixin weixin_moments mobile_qq copy_link"),
    "share": _words("1 twitter facebook weixin wechat weibo"),
}

INDEX_FILES = _words("""
    index.html index.htm index.shtml index.xhtml index.php index.php3 index.asp index.aspx index.jsp
    index.cgi index.do default.html default.htm default.asp default.aspx
""")

# Under any two-letter country domain these are sold under, not sold themselves: co.uk, com.cn.
PUBLIC_SECOND_LEVELS = _words("ac co com edu gov mil net org")
PUBLIC_SUFFIXES = _words("""
    ltd.uk plc.uk me.uk sch.uk nhs.uk police.uk
    ad.jp ed.jp go.jp gr.jp lg.jp ne.jp or.jp go.kr or.kr pe.kr re.kr ne.kr
    idv.tw game.tw ebiz.tw club.tw idv.hk id.au asn.au gen.nz school.nz geek.nz maori.nz govt.nz
    gob.mx gob.ar gob.es gob.cl gob.pe gob.ve nom.br art.br blog.br eco.br jus.br leg.br
    or.th go.th in.th or.id go.id web.id sch.id my.id firm.in gen.in ind.in nic.in res.in
    gouv.fr asso.fr nom.fr or.at gv.at k12.tr bel.tr web.tr gen.tr web.za law.za nom.za
    com.de eu.com uk.com us.com gb.net jpn.com cn.com
    ah.cn bj.cn cq.cn fj.cn gd.cn gs.cn gx.cn gz.cn ha.cn hb.cn he.cn hi.cn hk.cn hl.cn hn.cn jl.cn
    js.cn jx.cn ln.cn mo.cn nm.cn nx.cn qh.cn sc.cn sd.cn sh.cn sn.cn sx.cn tj.cn tw.cn xj.cn xz.cn
    yn.cn zj.cn
    github.io gitlab.io gitee.io coding.me gitbook.io readthedocs.io rtfd.io netlify.app vercel.app
    now.sh surge.sh pages.dev workers.dev web.app firebaseapp.com appspot.com herokuapp.com fly.dev
    onrender.com glitch.me repl.co azurewebsites.net cloudfront.net s3.amazonaws.com neocities.org
    wordpress.com tumblr.com substack.com weebly.com wixsite.com typepad.com livejournal.com
    hatenablog.com hatenablog.jp blog.jp fc2.com altervista.org over-blog.com myshopify.com
    dyndns.org no-ip.org duckdns.org
""")


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
_HOST_LENGTH = 255  # of DNS; longer names are escaped, not encoded
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
    """The host's name: lower case, ASCII, without port; empty when there is none."""
    match = _WEB.match(url.strip(_EDGES))
    if not match:
        return ""
    return _PORT.sub("", _authority(match[2], "")) if match[2] else ""


def same_url(a: str, b: str) -> bool:
    """Whether two URLs are forms of one."""
    return a == b or canonicalise(a) == canonicalise(b)


@lru_cache(maxsize=65_536)  # crawls have far fewer hosts than pages
def site(host: str) -> str:
    """The domain that was registered: what is left of a public suffix, and one label before it."""
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


def believable_canonical(page_url: str, declared: str, base: str = "") -> str:
    """The canonical form of what a page declares as its own URL, or "" when not believed.

    Believed only on the page's own site, and not when an inner page points at the front page (a
    template's mistake that would make the whole site one page). A page of unknown URL has nothing
    to check against: "".
    """
    resolved = canonicalise(_resolve(page_url, declared, base))
    page = canonicalise(page_url)
    declared_host = host(resolved)
    if not declared_host or site(declared_host) != site(host(page)):
        return ""
    if _is_front(resolved) and not _is_front(page):
        return ""
    return resolved


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
