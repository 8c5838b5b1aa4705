"""Values that look like secrets, taken out of text. Pure, standard library only.

By the shape of known tokens, by the name before a value, and by entropy; used before words go to the model and
again before words of the model are written (SPEC S-67, ANCHORS P15). What is *not* a secret matters as much, or
people's ordinary sentences would get holes: hashes, uuids, paths, identifiers, placeholders, names of variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable

SECRET = "[secret]"

_KNOWN = re.compile(
    r"-----BEGIN [^-\n]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-\n]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|(?<![A-Za-z0-9])(?:"
    r"sk-ant-[A-Za-z0-9_-]{8,}"  # Anthropic
    r"|sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{20,}"  # OpenAI and its kin
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|A[KS]IA[0-9A-Z]{16}(?![0-9A-Za-z])|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|dop_v1_[a-f0-9]{40,}|shp(?:at|ss)_[a-f0-9]{32}"
    r"|[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"  # a JSON web token
    r")",
    re.DOTALL,
)
_WEBHOOK = re.compile(
    r"(hooks\.slack\.com/services/|discord(?:app)?\.com/api/webhooks/)([A-Za-z0-9_/-]{20,200})"
)
_BEARER = re.compile(r"(\b(?:bearer|basic)\s+)((?=[^\s]*\d)[A-Za-z0-9._~+/=-]{16,})", re.IGNORECASE)
_CONNECTION = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@]{0,100}:)([^\s@/]{1,200})(?=@)")
_NAMED = re.compile(
    r"((?P<key>pass(?:word|wd|phrase)|pwd|secret|token|api[_ -]?key|(?:access|private|account|secret)[_-]?key|credential)"
    r"(?![A-Za-z])[\"'`]?(?P<sep>\s{0,3}(?::=|=>|=|:)\s{0,3}|\s(?:is|was)\s:?\s{0,1}))"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;)}<>]{4,200})",
    re.IGNORECASE,
)
_LONG = re.compile(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{32,}={0,2}")
_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_URL_BEFORE = re.compile(r"https?://[^\s?#\"'<>]{0,500}\Z", re.IGNORECASE)
_HASH = re.compile(r"[0-9a-fA-F-]+|sha(?:1|224|256|384|512)[-_].*", re.DOTALL)
_PLACEHOLDER = re.compile(
    r"[$<{%\[(*#@&/~.].*"  # $TOKEN, ${X}, <token>, {{x}}, [secret], ***, a path
    r"|https?://.*|\w+\(.*|\w+\[.*"  # an address, a call, a lookup
    r"|(?:os|env|process|self|this|config|settings|secrets|vault|ctx|req|request|props|args|vars?)\..*"
    r"|[A-Z][A-Z0-9]*_[A-Z0-9_]*"  # THE_NAME_OF_A_VARIABLE
    r"|[xX*.•_-]{3,}|\.{3}.*"
    r"|(?:str(?:ing)?|int|bytes|bool(?:ean)?|none|null|nil|true|false|undefined|any|object|optional|required|"
    r"missing|invalid|expired|empty|redacted|example|changeme|your[\w-]*|my[\w-]*)[.!?|]?.{0,1}",
    re.DOTALL | re.IGNORECASE,
)
_ALGORITHM = re.compile(
    r"(?:sha|md|base|utf|rs|hs|es|ps|ed|aes|argon|bcrypt|pbkdf|oauth|http|iso|u?int|float|x|rfc|tls|ssl|p|v|jwt|"
    r"es|ecma|python|node|py)[-_]?\d.*",
    re.IGNORECASE,
)

_Verdict = Callable[[re.Match[str]], str | None]


def redact(text: str) -> tuple[str, int]:
    """Given text, return it with `[secret]` in place of each secret's value, and how many there were.

    Doing it again changes nothing.
    """
    count = 0
    while True:  # each round replaces at least one value that is not `[secret]` yet, so it ends
        text, found = _round(text)
        if not found:
            return text, count
        count += found


def has_secret(text: str) -> bool:
    """Whether something in the text looks like a secret's value."""
    return redact(text)[1] > 0


def _round(text: str) -> tuple[str, int]:
    text, known = _KNOWN.subn(SECRET, text)
    text, hooks = _WEBHOOK.subn(rf"\1{SECRET}", text)
    text, bearers = _BEARER.subn(rf"\1{SECRET}", text)
    text, connections = _replaced(_CONNECTION, text, _connection)
    text, named = _replaced(_NAMED, text, _named)
    text, long = _replaced(_LONG, text, _random)
    return text, known + hooks + bearers + connections + named + long


def _replaced(pattern: re.Pattern[str], text: str, verdict: _Verdict) -> tuple[str, int]:
    """Replace what the verdict names; it gives the new text of a match, or None to leave it."""
    count = 0

    def one(match: re.Match[str]) -> str:
        nonlocal count
        new = verdict(match)
        if new is None or new == match[0]:
            return match[0]
        count += 1
        return new

    return pattern.sub(one, text), count


def _connection(match: re.Match[str]) -> str | None:
    return None if match[2].startswith(("$", "<", "{", "[", "*", "%")) else match[1] + SECRET


def _named(match: re.Match[str]) -> str | None:
    value, key = match["value"], match["key"].lower()
    if _PLACEHOLDER.fullmatch(value) or _ALGORITHM.fullmatch(value) or value.lower().startswith(key):
        return None
    digits = sum(char.isdigit() for char in value)
    if value.strip(".!?").isdigit():
        return match[1] + match["quote"] + SECRET if key.startswith(("pass", "pwd")) and digits >= 4 else None
    plain = value.rstrip(".!?:").replace("-", "").replace("_", "").isalpha()
    if match["quote"] or (match["sep"] == "=" and not plain):
        sure = len(value) >= 4
    elif match["sep"].strip() in ("=", ":", ":=", "=>"):
        sure = not plain and len(value) >= 6 and _is_mixed(value)
    else:  # "the password is …": prose, so the word has to look like one
        sure = len(value) >= 6 and digits > 0 and _is_mixed(value)
    return match[1] + match["quote"] + SECRET if sure else None


def _is_mixed(value: str) -> bool:
    """Letters together with digits or signs, as no word of a sentence has them."""
    inner = value.rstrip(".!?:")
    signs = sum(not char.isalnum() and char not in "-_./'’" for char in inner)
    return any(char.isalpha() for char in inner) and (signs > 0 or any(char.isdigit() for char in inner))


def _random(match: re.Match[str]) -> str | None:
    """A long run of mixed letters and digits that is no hash, uuid, path or identifier.

    Words of an identifier are long; in a random token the kind of character changes about every second one.
    """
    token = match[0]
    if _HASH.fullmatch(token) or _URL_BEFORE.search(match.string, max(0, match.start() - 500), match.start()):
        return None
    kinds = (
        any(c.islower() for c in token),
        any(c.isupper() for c in token),
        sum(c.isdigit() for c in token) >= 2,
    )
    chunks = _CHUNK.findall(token)
    return SECRET if all(kinds) and len(token) / max(1, len(chunks)) < 3.0 else None
