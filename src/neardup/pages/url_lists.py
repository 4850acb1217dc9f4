"""Names that occur in URLs: what follows a visitor, what opens a folder, where domains are sold."""

from __future__ import annotations


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
