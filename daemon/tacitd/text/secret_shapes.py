"""Tokens that are recognised by their own shape, in any context: the formats that issuers publish. Pure.

Each pattern is bounded, so that no text takes quadratic time. A new format is one line here; the test takes its samples
from the pattern. Values that are secrets only because of the words before them belong in redact.py.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily

_HEX, _WORD, _MIXED = "[0-9a-f]", "[A-Za-z0-9_-]", "[A-Za-z0-9]"
SHAPES: dict[str, str] = {
    "1password": r"ops_[A-Za-z0-9+/_=-]{60,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    "age": r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,20})-1[0-9A-Z]{40,}",
    "airtable": rf"pat{_MIXED}{{14}}\.{_HEX}{{64}}",
    "alibaba": rf"LTAI{_MIXED}{{16,}}",
    "anthropic": rf"sk-ant-{_WORD}{{8,}}",
    "artifactory": rf"AKC(?=[A-Za-z]{{0,40}}\d){_MIXED}{{10,}}",
    "atlassian": rf"AT[AC]TT3{_WORD}{{50,}}={{0,2}}[A-F0-9]{{0,8}}|ATBB{_MIXED}{{32,}}",
    "aws": r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?![0-9A-Za-z])|ABSK[A-Za-z0-9+/]{100,}={0,2}",
    "aws mws": rf"amzn\.mws\.{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}",
    "azure client": r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}",
    "brevo": rf"xkeysib-{_HEX}{{64}}-{_MIXED}{{16}}",
    "buildkite": rf"bk[a-z]{{2}}_{_HEX}{{40}}",
    "circleci": rf"CCIPAT_{_MIXED}{{16,}}_{_HEX}{{40}}",
    "clojars": r"CLOJARS_[a-z0-9]{60}",
    "contentful": rf"CFPAT-{_WORD}{{40,}}",
    "databricks": rf"dapi{_HEX}{{32}}(?:-\d)?",
    "digitalocean": rf"do[opr]_v1_{_HEX}{{40,}}",
    "discord": rf"[MNO]{_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,45}}|mfa\.{_WORD}{{80,100}}",
    "docker": rf"dckr_[po]at_{_WORD}{{20,}}|SWM(?:TKN|KEY)-1-[A-Za-z0-9+/-]{{40,}}",
    "doppler": rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_MIXED}{{40,44}}",
    "dropbox": rf"sl\.(?:u\.)?{_WORD}{{100,}}",
    "dynatrace": r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    "elevenlabs": rf"sk_{_HEX}{{40,}}",
    "facebook": rf"EAA{_MIXED}{{60,}}",
    "figma": rf"fig[dor]_{_WORD}{{30,}}",
    "firebase": rf"AAAA{_WORD}{{7}}:{_WORD}{{120,}}",
    "github": rf"gh[pousr]_{_MIXED}{{20,}}|github_pat_[A-Za-z0-9_]{{20,}}",
    "gitlab": rf"gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas|ffct|wt)-[A-Za-z0-9_.-]{{16,}}|GR1348941{_WORD}{{20,}}",
    "google": rf"AIza{_WORD}{{30,}}|ya29\.{_WORD}{{20,}}|GOCSPX-{_WORD}{{20,}}|1//0{_WORD}{{30,}}",
    "grafana": rf"glc_[A-Za-z0-9+/]{{32,}}={{0,2}}|glsa_{_MIXED}{{32}}_{_HEX}{{8}}",
    "groq": rf"gsk_{_MIXED}{{40,}}",
    "heroku": rf"HRKU-{_WORD}{{36,}}",
    "hugging face": rf"(?:hf|api_org)_{_MIXED}{{30,}}",
    "json web token": rf"eyJ{_WORD}++(?:={_WORD}*+){{0,4}}\.[A-Za-z0-9_=-]{{6,}}+(?:\.[A-Za-z0-9_.+/=-]*+)?",
    "langsmith": rf"lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}",
    "linear": rf"lin_(?:api|oauth)_{_MIXED}{{30,}}",
    "mailchimp": r"[0-9a-z]{32}-us\d{1,2}",
    "mailgun": rf"(?:key|pubkey)-{_HEX}{{32}}|{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}",
    "netlify": rf"nf[a-z]_{_MIXED}{{36,}}",
    "new relic": rf"NR(?:AK|II|AL|RA|SP)-{_WORD}{{24,}}|NRJS-{_HEX}{{19}}",
    "nkey": r"S[ACNOPUX][A-Z2-7]{56}(?![A-Z0-9])",
    "notion": rf"secret_{_MIXED}{{43}}|ntn_{_MIXED}{{40,}}",
    "npm": rf"npm_{_MIXED}{{30,}}",
    "nuget": r"oy2[a-z0-9]{43}",
    "openai": rf"(?:sk|sess)-(?=[A-Za-z_-]{{0,60}}\d){_WORD}{{20,}}|sk-[a-z]{{2,8}}-{_MIXED}{{16,}}\.{_MIXED}{{16,}}",
    "perplexity": rf"pplx-{_MIXED}{{40,}}",
    "planetscale": r"pscale_(?:tkn|pw|oauth|app_secret)_[A-Za-z0-9_.-]{30,}",
    "supabase": rf"sbp_(?:v\d_|oauth_)?{_HEX}{{40}}|sb_secret_{_WORD}{{20,}}",
    "posthog": rf"ph[xs]_{_MIXED}{{40,}}",
    "postman": rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}",
    "pulumi": rf"pul-{_HEX}{{40}}",
    "pypi": rf"pypi-{_WORD}{{30,}}",
    "replicate": rf"r8_{_MIXED}{{37}}",
    "rubygems": rf"rubygems_{_HEX}{{48}}",
    "sendgrid": rf"SG\.{_WORD}{{16,}}\.{_WORD}{{16,}}",
    "sentry": rf"sntrys_[A-Za-z0-9+/=_-]{{40,}}|sntryu_{_HEX}{{64}}",
    "shopify": r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}",
    "slack": rf"xox[abeoprs](?:\.xox[bp])?-{_WORD}{{10,}}|xapp-{_WORD}{{20,}}",
    "sonar": rf"sq[pua]_{_HEX}{{40}}",
    "square": rf"sq0[a-z]{{3}}-[A-Za-z0-9_\\-]{{22,}}|EAAA{_WORD}{{60}}",
    "stripe": rf"[srp]k_(?:live|test|prod)_{_MIXED}{{16,}}|whsec_[A-Za-z0-9+/=]{{20,}}",
    "tailscale": rf"tskey-{_WORD}{{20,}}",
    "tavily": rf"tvly-{_WORD}{{20,}}",
    "telegram": rf"\d{{8,10}}:(?=[A-Za-z_-]{{0,34}}\d)A{_WORD}{{34}}(?!{_WORD})",
    "tencent": rf"AKID{_MIXED}{{28,}}",
    "terraform": rf"{_MIXED}{{14}}\.atlasv1\.{_WORD}{{60,}}",
    "twilio": rf"(?:AC|SK)(?=[a-z]{{0,31}}\d)[a-z0-9]{{32}}(?!{_MIXED})",
    "vault": rf"hv[sbr]\.{_WORD}{{20,}}|[sbr]\.(?=[A-Za-z]{{0,23}}\d)(?=[a-z0-9]{{0,23}}[A-Z]){_MIXED}{{24}}(?!{_MIXED})",
    "vercel": rf"vc[apkirt]_{_MIXED}{{24,}}|vercel_blob_rw_{_WORD}{{20,}}",
    "wallet": r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}",
    "xai": rf"xai-{_MIXED}{{60,}}",
}
"""Issuer -> the pattern of its tokens. A match begins where no letter, digit, `_` or `-` precedes."""

KEY_BLOCK = (
    r"-----BEGIN (?P<kind>[^-\n]{0,40}PRIVATE KEY(?: BLOCK)?)-----.*?"
    r"(?:-----END (?P=kind)-----|\Z)"
    r"|PuTTY-User-Key-File-\d:.*?(?:Private-MAC: ?[0-9a-f]{1,80}|\Z)"
)
"""Private keys in PEM, OpenSSH, PGP and PuTTY form, also with the end cut off."""

_KEY_BLOCK = compile_lazily(KEY_BLOCK, re.DOTALL)
_TOKEN = compile_lazily(
    rf"(?:(?<![A-Za-z0-9_-])(?:{'|'.join(SHAPES.values())})"
    # A token after a name: `token_ghp_…`. Only shapes that cannot fail after a long scan.
    rf"|(?<=[_-])(?:{SHAPES['github']}|{SHAPES['aws']}|{SHAPES['stripe']}|{SHAPES['npm']}))"
    # The rest of a token that is longer than its format, and what follows a dot in it.
    rf"{_WORD}*+(?:\.{_WORD}{{12,}}+)*+"
)
_RUN = compile_lazily(r"[A-Za-z0-9_.:+/=~\\-](?:[A-Za-z0-9_.:+/=~\\-]{10,}+)")
"""The characters of a token, at least as many as the shortest has. The pattern of all tokens is slow, so it is applied only
to such runs.
"""


def find_shapes(text: str) -> list[tuple[int, int]]:
    """The spans of tokens and private keys."""
    spans: list[tuple[int, int]] = []
    if "-----BEGIN" in text or "PuTTY" in text:
        spans += (found.span() for found in _KEY_BLOCK.finditer(text))
    for run in _RUN.finditer(text):
        spans += (found.span() for found in _TOKEN.finditer(text, *run.span()))
    return spans
