"""Removes values that look like secrets from text. Pure (S-67).

A secret is found by the shape of an issuer's tokens (secret_names.py), by the text around a value (`_RULES`), by its
place in a table, by the checksum of a card, or because it is a long random run. Redaction is applied before text goes to
the model, and again before the model's text is written (ANCHORS P15).

What is *not* a secret matters as much: hashes, uuids, paths, identifiers, placeholders and names of variables must stay.
The less the text around a value proves, the more the value itself must look like a secret.

Every pattern reads a bounded number of characters from a place where one of its cues is, so the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.secret_names import (
    CLAUSE_END,
    COLUMN,
    MESSAGE,
    NAME_CUES,
    NAMED,
    PASSWORD,
    TECHNICAL,
    TRAILING,
    find_shapes,
    is_mixed,
    is_name,
    is_named,
    is_no_code,
    is_no_word,
    is_placeholder,
    is_plain,
    is_random,
)

__all__ = ["has_secret", "redact_secrets"]

SECRET = "[secret]"

Spans = list[tuple[int, int]]
Test = Callable[[re.Match[str]], bool]


class _Rule(NamedTuple):
    cues: frozenset[str]
    """What a match begins with, in small letters."""
    pattern: re.Pattern[str]
    """It has the group `value`."""
    is_secret: Test


def _look_back(found: re.Match[str], pattern: re.Pattern[str], length: int) -> re.Match[str] | None:
    """What the pattern finds in so many characters before the match."""
    return pattern.search(found.string, max(0, found.start() - length), found.start())


def _is_key(found: re.Match[str]) -> bool:
    """`key` and a hash: not the key of a cache, a map, a table."""
    return not _look_back(found, _DATA, 20)


_DATA = compile_lazily(
    r"(?:cache|primary|foreign|sort|partition|public|map|object|redis|idempotency|routing|row|hash|lookup|dict|s3|"
    r"index|dedupe|etag|group)[_ -]*\Z",
    re.IGNORECASE,
)


def _is_header(found: re.Match[str]) -> bool:
    value = found["value"]
    mixed = is_random(value) or re.search(r"[0-9a-f]{16}|\d[A-Za-z]", value) is not None
    return (len(value) >= 16 and any(map(str.isdigit, value)) and mixed) or _is_login(found)


def _is_login(found: re.Match[str]) -> bool:
    """Whether this is base64 of `user:password`, as in headers and in docker's configuration."""
    from base64 import b64decode  # few texts have such a value

    value = found["value"].rstrip("=")
    try:
        plain = b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
    return re.fullmatch(rb"[ -9;-~]{1,80}:[ -~]{1,}", plain) is not None


def _is_parameter(found: re.Match[str]) -> bool:
    """A parameter of an address, `?api_key=…`."""
    value, name = found["value"], found["name"].casefold()
    if not _look_back(found, _PARAMETER_HEAD, 42) or is_name(value):
        return False
    if name in ("key", "code", "auth", "sid", "session"):
        return len(value) >= 12 and is_random(value)
    return name.startswith(("pass", "pwd")) or (len(value) >= 8 and any(map(str.isdigit, value)))


_PARAMETER_HEAD = compile_lazily(r"[?&;#][\w.-]{0,40}\Z")


def _is_userinfo(found: re.Match[str]) -> bool:
    """The password of an address, or a token in place of its user."""
    value, is_alone = found["value"], found.start("value") == found.start() + 3
    return not is_alone or (re.fullmatch(r"[\w-]{16,200}", value) is not None and is_random(value))


def _is_address(found: re.Match[str]) -> bool:
    """`user:password@host` without a scheme; `:` is where the match begins."""
    before = _look_back(found, _USER, 60)
    if before is None or before[1].casefold() in _FIELDS.split():
        return False
    return not is_name(found["value"]) and not found["value"].startswith("//")


_USER = compile_lazily(r"(?<![\w.:/@+-])([A-Za-z_][\w.+-]{0,50})\Z")
_FIELDS = """
email mail e-mail mailto to from cc bcc contact author maintainer reply-to sip sips xmpp acct npm pkg git
image committer owner sender recipient signed-off-by co-authored-by http https ssh scp
"""


_PGPASS_HOST = compile_lazily(r"(?:\A|\n)[\w.*-]{1,200}\Z")


def _is_login_value(found: re.Match[str]) -> bool:
    value, user = found["value"], found["user"]
    if is_name(user) or is_name(value) or TECHNICAL.fullmatch(value):
        return False
    if is_plain(value):
        listed = found["with"] and not found["name"].casefold().startswith(("log", "sign"))
        ends = value[-1] in TRAILING or CLAUSE_END.match(found.string, found.end()) is not None
        return (found["sep"] == " / " or bool(listed)) and ends and is_no_word(value)
    is_file = re.fullmatch(r"[\w.-]+\.[a-z]{1,4}", value) is not None
    return not is_file and is_mixed(value) and is_no_code(value.rstrip(TRAILING))


def _is_used_as(found: re.Match[str]) -> bool:
    """The value of "use VALUE as the password"."""
    value = found["value"]
    if is_name(value) or TECHNICAL.fullmatch(value):
        return False
    looks_so = is_no_word(value) if is_plain(value) else is_mixed(value) and is_no_code(value)
    return looks_so or bool(found["quote"])


def _is_phrase(found: re.Match[str]) -> bool:
    words = found["value"].split()
    if found["name"].casefold().startswith("pass"):
        return len(words) >= 4 and not MESSAGE.search(found["value"])
    return len(words) >= 12


def _is_recovery_code(found: re.Match[str]) -> bool:
    value = found["value"]
    if any(map(str.isdigit, value)):
        return len(value) >= 6
    groups = re.split(r"[-\s,;]+", value)
    is_spoken = found["link"] is None and not (value.isupper() and len(groups) > 2)
    return not is_spoken and len(set(map(len, groups))) == 1


def _is_option(found: re.Match[str]) -> bool:
    """`--password VALUE`: quoted, after `=`, mixed, or a word that is none of a sentence about the option."""
    value = found["value"]
    if found["quote"] or found.string[found.start("value") - 1] == "=":
        return True
    if not is_plain(value):
        return is_mixed(value) and len(value) >= (4 if found["password"] else 6) and is_no_code(value)
    is_spoken = _look_back(found, _ARTICLE, 8) is not None
    return found["password"] is not None and not is_spoken and is_no_word(value) and value[-1] not in TRAILING


_ARTICLE = compile_lazily(r" (?:the|an?|use|der|die|das|le|la|el)[`'\" ]*\Z", re.IGNORECASE)


def _is_login_line(found: re.Match[str]) -> bool:
    return not is_name(found["value"]) and (is_no_word(found["value"]) or not is_plain(found["value"]))


_SQL = compile_lazily(r"\b(?:create|alter|grant)\b", re.IGNORECASE)


def _after(programs: str, digits: int = 0) -> Test:
    """Whether one of the programs precedes an option in the same command. Fewer digits alone are a port, no password."""
    pattern = compile_lazily(rf"(?<![\w-])(?:{programs})(?![\w-])")

    def test(found: re.Match[str]) -> bool:
        before = found.string[max(0, found.start() - 300) : found.start()].replace("\\\n", "  ")
        if found["value"].isdigit() and len(found["value"]) < digits:
            return False
        return pattern.search(before[max(map(before.rfind, "\n|;")) + 1 :]) is not None

    return test


# --- the table -------------------------------------------------------------------------------------------------------

_IN_HEADER = r"(?P<value>[A-Za-z0-9._~+/=:%-]{8,300}+)"
_ARGUMENT = r"(?P<quote>[\"']?)(?P<value>(?<=[\"'])[^\"'\n]{1,300}|(?<![\"'])(?!-)[^\s\"'`|;&,)]{2,300}+)"
_SIGN_IN = (
    r"(?P<name>log(?:ged)?[ -]?in|sign(?:ed)?[ -]?in|logins?|credentials?|creds?|zugang(?:sdaten)?|anmeld\w{1,6}|"
    r"identifiants?|connexion|acceso|credenciales|user(?:name)?\s?/\s?pass(?:word)?)"
)
_RECOVERY = (
    r"(?:(?:recovery|backup|rescue|scratch)[ _-](?:codes?|keys?)|(?:wiederherstellungs|ersatz|backup-?)(?:codes?|schlüssel)|"
    r"codes\s(?:de\s)?(?:secours|récupération)|códigos\sde\s(?:recuperación|respaldo))"
)
_RECOVERY_CODE = r"(?=[a-z]{0,12}[\d-])[a-z0-9]{4,12}(?:-[a-z0-9]{3,12}){0,8}(?![\w.-])"


def _rule(cues: str, pattern: str, is_secret: Test = lambda found: True) -> _Rule:
    return _Rule(frozenset(cues.split(",")), compile_lazily(pattern, re.IGNORECASE), is_secret)


_RULES: tuple[_Rule, ...] = (
    # names with values
    _Rule(NAME_CUES, NAMED, is_named),
    _rule("key", r"(?<![A-Za-z0-9])keys?[\"'`]?(?:\s{0,2}[:=]\s{0,2}|\s(?:is|was|ist)\s:?\s?|\s)[\"'`]?(?P<value>[0-9a-f]{32}(?:[0-9a-f]{8}|[0-9a-f]{32})?)(?![\w-])", _is_key),
    _rule("ibm,clou,cl,softlayer,sl", r"(?<![A-Za-z])(?:ibm[\w-]{0,10}?|cloud[_-]?iam|cloudant|clou|cl|softlayer|sl)[_-]?(?:api)?[_-]?(?:key|pwd?|pass|password|token)[\"'\]]{0,2}[ ]{0,20}(?:::?=?|==?>?|[ ])[ ]{0,20}[\"']?(?P<value>[0-9a-f]{64}|[a-z]{24}|[a-z0-9]{64}|[\w-]{44})(?![\w-])"),
    _rule("aws", r"aws[^\n]{0,20}?(?:key|pwd?|pass|token)[^\n]{0,20}?[\"'](?P<value>[0-9a-z/+]{40})[\"']"),
    _rule("recovery,backup,rescue,scratch,wiederherstell,ersatz,codes,código", rf"(?<![a-z]){_RECOVERY}(?:\s(?:is|are|sind|lauten|sont|son)(?=\s|:))?(?P<link>\s?[:=])?\s{{0,3}}(?:[-*]\s|\d[.)]\s)?(?P<value>{_RECOVERY_CODE}(?:[\s,;]{{1,3}}(?:[-*]\s|\d{{1,2}}[.)]\s)?{_RECOVERY_CODE}){{0,24}})", _is_recovery_code),
    _rule("seed,recovery,backup,secret,pass,mnemonic", r"(?P<name>seed(?:\s(?:phrase|words?))?|(?:recovery|backup|secret|pass)[ -]?phrase|mnemonic)(?:\s(?:is|are|was)|\s?[:=])\s{1,3}[\"']?(?P<value>[A-Za-z]{3,8}(?:[ \t,\r\n]{1,3}[A-Za-z]{3,8}(?![\w'’])){3,23})", _is_phrase),
    _rule("log,sign,cred,zugang,anmeld,identifiant,connexion,acceso,user", rf"(?<![\w-]){_SIGN_IN}(?P<with>\s?[:=]\s?|\s(?:is|are|as|with|mit|als|avec|con|lautet|ist)\s)?(?(with)|\s)(?P<user>[\w.@+-]{{2,60}})(?P<sep>\s?[/:]\s?)(?P<value>[^\s/\"'`,;()]{{4,200}}+)(?![/(])", _is_login_value),
    _rule("use ,with ,take ,enter ,nimm ,nutze ,verwende ,utilise ,usa ", rf"(?<![a-z])[a-z]{{3,8}}\s(?P<quote>[\"'`]?)(?P<value>[^\s\"'`]{{4,100}})[\"'`]?\s(?:as|als|comme|como)\s(?:(?:the|a|my|our|your|das|mein|unser|le|la)\s)?(?:\w{{1,12}}\s)?(?:{PASSWORD})(?!\s(?:hash|algo|manag|field|stor|pol|encod|encr))", _is_used_as),
    # headers and addresses
    _rule("authorization", rf"authorization[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?(?:(?:bearer|basic|token|apikey|bot|key|digest)\s{{1,3}})?{_IN_HEADER}", _is_header),
    _rule("x-", rf"\bx-[a-z-]{{0,30}}(?:key|token|secret|auth|signature)[a-z-]{{0,10}}[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?{_IN_HEADER}", _is_header),
    _rule("bearer,basic", rf"\b(?:bearer|basic)\s{{1,3}}{_IN_HEADER}", _is_header),
    _rule("session,sid=,jsessionid,phpsessid", rf"(?<![A-Za-z])(?:session(?:_?id)?|sid|jsessionid|phpsessid)={_IN_HEADER}", _is_header),
    _rule("cookie:", rf"cookie:\s{{0,2}}[\w.-]{{1,40}}={_IN_HEADER}", _is_header),
    _rule("token=,key=,secret=,password=,passwd=,pwd=,pass=,sig=,signature=,auth=,credential=,session=,sid=,jwt=,otp=,code=", r"(?P<name>\w{3,10})=(?P<value>[^&\s#\"'<>`)\]]{4,300}+)", _is_parameter),
    _rule("hooks.slack.com/,discord,.webhook.office.com/,maker.ifttt.com/use/,api.telegram.org/bot,softlayer.com/", r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/webhookb2/|maker\.ifttt\.com/use/|api\.telegram\.org/bot|softlayer\.com/soap/v3(?:\.1)?/)(?P<value>[\w/:@-]{20,300}+)"),
    _rule("://", r"://(?:[^\s:/@\"'<>]{0,100}:)?(?P<value>[^\s@/\"'<>]{1,200})@", _is_userinfo),
    _rule(":", r":(?!//)(?P<value>[^\s:@/\"'<>`]{4,64})@(?:[a-z](?:[\w-]{0,62}\.){1,5}[a-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}|localhost|[a-z][\w-]{0,62}(?=:\d{2,5}))(?![\w@-])", _is_address),
    _rule(":54,:64,:33,:*:", r":(?:\d{4,5}|\*):[\w*-]{1,100}:[\w.*-]{1,100}:(?P<value>[^\s:]{4,300})(?!\S)", lambda found: bool(_look_back(found, _PGPASS_HOST, 201))),
    # an option or a line that means a password in any program
    _rule("-", rf"(?<![\w-])--?(?:[\w-]{{0,30}}?-)?(?:(?P<password>(?:store|key|auth)?pass(?:word|wd|phrase|code)?\d?)|token|secret|api-?key|access-?key|secret-?key|auth-?token)(?:=|:|\s{{1,3}}){_ARGUMENT}", _is_option),
    _rule("/p", rf"(?<=\s)/p(?:ass(?:word)?)?:(?![^\s=]{{0,100}}=){_ARGUMENT}"),
    _rule("-pass", r"(?<=\s)-pass(?:in|out)?\s{1,3}[\"']?pass:(?P<value>[^\s\"']{2,300})"),
    _rule("--from-literal", rf"--from-literal[ =][\"']?[\w.-]{{1,80}}={_ARGUMENT}"),
    _rule("sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}{_ARGUMENT}"),
    _rule("htpasswd", rf"htpasswd\s{{1,3}}-\w*b\w*\s{{1,3}}(?:(?!-)\S{{1,100}}\s{{1,3}}){{1,2}}{_ARGUMENT}(?=\s*(?:[\n;&|]|\Z))"),
    _rule("echo,printf", rf"(?:echo|printf)\s{{1,3}}(?:-n\s{{1,3}})?(?:(?P<pair>[\"']?[\w-]{{1,40}}:)[\"']?)?{_ARGUMENT}[\"']?\s{{0,3}}\|\s{{0,3}}(?:sudo\s{{1,3}}(?:-\w+\s{{1,3}}){{0,3}}-S|(?(pair)(?:sudo\s{{1,3}})?chpasswd|(?:sudo\s{{1,3}})?(?:passwd\s{{1,3}}--stdin|cryptsetup|docker\s{{1,3}}login)))"),
    _rule("convertto-securestring", r"convertto-securestring\s{1,3}(?:-string\s{1,3})?[\"'](?P<value>[^\"'\n]{1,300})"),
    _rule("identified", r"identified\s{1,3}(?:with\s{1,3}\w{1,40}\s{1,3})?by\s{1,3}['\"](?P<value>[^'\"\n]{1,300})", lambda found: bool(_look_back(found, _SQL, 200))),
    _rule("login", r"(?<![A-Za-z])login\s{1,3}\S{1,200}\s{1,3}password\s{1,3}(?P<value>\S{2,300})", _is_login_line),
    _rule('"auth","identitytoken","registrytoken","_auth"', r"\"\w{4,16}\"\s{0,3}:\s{0,3}\"(?P<value>[A-Za-z0-9+/=_.-]{8,300})\"", lambda found: _is_login(found) or is_random(found["value"])),
    _rule("_auth,_password", r"(?<![A-Za-z])_(?:auth(?:token)?|password)\s{0,3}=\s{0,30}\"?(?P<value>[^\s\"]{6,300})"),
    _rule("net use,net user", rf"net\suse(?:r\s{{1,3}}[\w.-]{{1,40}}|\s{{1,3}}(?:\w:|\*)?\s{{0,3}}\\\\\S{{1,200}}(?:\s{{1,3}}/user:\S{{1,100}})?)\s{{1,3}}(?![/*]){_ARGUMENT}"),
    _rule("wpa_passphrase,sqlplus,add_user,change_password", r"(?:wpa_passphrase\s{1,3}[\"']?[^\s\"']{1,40}[\"']?\s{1,3}|sqlplus\s{1,3}(?:-\w{1,3}\s{1,3})?\w{1,40}/|(?:add_user|change_password)\s{1,3}[\w.-]{1,40}\s{1,3})(?P<value>[^\s\"'@]{3,300})"),
    # an option that means a password after its program, in the same command
    _rule("-p", rf"(?<=\s)-h?p(?!\s){_ARGUMENT}", _after("mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7za?|7zr|rar|unrar", digits=6)),
    _rule("-p", rf"(?<=\s)-p[ =]{_ARGUMENT}", _after(r"(?:docker|podman|helm|az|oc|cf|ibmcloud|nerdctl)\b[^|]{0,60}?\blogin|mongo|mongosh|mongodump|mongorestore|psexec|cqlsh", digits=99)),
    _rule("-u,--u,--p,-a,--a", r"(?<=\s)--?(?:u|user|proxy-user|a|auth)[ =]?[\"']?[^\s:,\"']{0,100}+[:,](?P<value>[^\s\"']{2,300}+)", _after("curl|https?|httpie|wget|ab|lftp|ncftp|xh")),
    _rule("-a,--pass", rf"(?<=\s)-(?:a|-pass)\s{{1,3}}{_ARGUMENT}", _after("redis-cli|valkey-cli")),
    _rule("-w", rf"(?<=\s)-w\s{{0,3}}{_ARGUMENT}", _after("ldap(?:search|modify|add|delete|passwd|whoami)")),
    _rule("-p", rf"(?<=\s)(?-i:-P)\s{{0,3}}{_ARGUMENT}", _after("sqlcmd|osql|bcp|zip|unzip|mosquitto_(?:pub|sub)", digits=99)),
    _rule("-pw", rf"(?<=\s)-pw\s{{1,3}}{_ARGUMENT}", _after("plink|pscp|psftp|putty")),
    _rule("-u", r"(?<=\s)-U\s{0,3}[^\s%]{1,100}+%(?P<value>\S{2,300})", _after("smbclient|rpcclient")),
    _rule("-k", rf"(?<=\s)-k\s{{1,3}}{_ARGUMENT}", _after("openssl")),
    _rule("password", rf"password\s{{1,3}}{_ARGUMENT}", _after("nmcli|wpa_cli")),
)  # fmt: skip
"""Rules in no order: each is tried wherever one of its cues is."""


# --- the loop --------------------------------------------------------------------------------------------------------


def redact_secrets(text: str) -> tuple[str, int]:
    """Given text, return it with `[secret]` in place of each secret's value, and the number of secrets. It is idempotent."""
    count = 0
    # Each round replaces at least one value that is not `[secret]` yet, so this ends.
    while spans := _merge(_find(text), text):
        edges = [0, *(at for span in spans for at in span), len(text)]
        text = SECRET.join(text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
        count += len(spans)
    return text, count


def has_secret(text: str) -> bool:
    """Whether anything in the text looks like a secret's value."""
    return bool(_merge(_find(text), text))


def _find(text: str) -> Spans:
    """All spans of secrets; they may overlap."""
    small = text.replace("İ", "I").lower()  # its small form is longer, which would shift offsets
    spans = find_shapes(text)
    places = {cue: _places(small, cue) for cue in _CUES if cue in small}
    for number in sorted({number for cue in places for number in _CUES[cue]}):
        rule, end = _RULES[number], 0
        for at in _merge_places(places, rule.cues):
            # A place before the last value is skipped.
            if at >= end and (found := rule.pattern.match(text, at)):
                start, end = found.span("value")
                if is_placeholder(found["value"]) or not rule.is_secret(found):
                    end = start
                    continue
                if end - start >= 300 and (rest := _REST.match(text, end)):  # longer than the patterns read
                    end = rest.end()
                spans.append((start, end))
    spans += _find_in_columns(text, _merge_places(places, NAME_CUES))
    spans += (found.span() for found in _LONG.finditer(text) if _is_long_random(found))
    spans += (found.span() for found in _CARD.finditer(text) if _is_card(found[0]))
    return spans


_CUES: dict[str, list[int]] = {}
for _number, _one in enumerate(_RULES):
    for _cue in _one.cues:
        _CUES.setdefault(_cue, []).append(_number)


def _places(small: str, cue: str) -> list[int]:
    places = [at := small.find(cue)]
    while (at := small.find(cue, at + 1)) >= 0:
        places.append(at)
    return places


def _merge_places(places: dict[str, list[int]], cues: frozenset[str]) -> list[int]:
    return sorted({at for cue in places.keys() & cues for at in places[cue]})


def _merge(spans: Spans, text: str) -> Spans:
    """The spans in order, with overlapping ones merged, without those that are only `[secret]`."""
    merged: Spans = []
    for start, end in sorted(spans):
        if text[start:end].strip() in ("", SECRET) or text[start - 1 : end + 1] == SECRET:
            continue
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


_REST = compile_lazily(r"[^\s\"'`“”‘’「」『』«»,;)}<>|&]*+")
_LONG = compile_lazily(r"(?<![A-Za-z0-9+_-])[A-Za-z0-9+_-]{32,}+={0,2}")
_DATE = compile_lazily(r"(?:19|20)\d\d[-_]?\d\d[-_]?\d\d")
_HASH = compile_lazily(r"[0-9a-fA-F-]+|sha(?:1|224|256|384|512)[-_].*", re.DOTALL)
_URL_BEFORE = compile_lazily(r"https?://[^\s?#\"'<>]{0,500}\Z", re.IGNORECASE)
_CARD = compile_lazily(
    r"(?=[2-6]\d{3})(?<![\w.+/=-])(?:"
    r"(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6(?:011|4[4-9]\d|5\d\d|2\d\d)|35[2-8]\d)(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d\d(?P<gap_amex>[ -]?)\d{6}(?P=gap_amex)\d{5}"
    r"|3(?:0[0-5]|[68]\d)\d(?P<gap_diners>[ -]?)\d{6}(?P=gap_diners)\d{4}"
    r")(?![\w/=-]|\.\d)"
)
"""Visa, Mastercard, Discover, UnionPay, JCB; American Express; Diners Club: the beginning and length of their numbers."""


def _is_long_random(found: re.Match[str]) -> bool:
    """Whether this is a long run of mixed letters and digits, but not a hash, uuid, path, identifier or dated name: in a random token
    about every second character is of another kind than the one before it."""
    token, start = found[0], found.start()
    if (
        _HASH.fullmatch(token)
        or _DATE.search(token)
        or _URL_BEFORE.search(found.string, max(0, start - 500), start)
    ):
        return False
    kinds = (any(map(str.islower, token)), any(map(str.isupper, token)), sum(map(str.isdigit, token)) >= 2)
    return all(kinds) and is_random(token, 3.0)


def _is_card(number: str) -> bool:
    """Whether the Luhn checksum of a card's number is right. Spaces and hyphens are ignored."""
    digits = [int(char) for char in reversed(number) if char.isdigit()]
    total = sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return total % 10 == 0 and len(set(digits)) > 1


def _find_in_columns(text: str, names: list[int]) -> Spans:
    """The cells below a name in a Markdown table, in the table of a database, or in lines with tabs or commas."""
    spans: Spans = []
    end, last_row = 0, text.rfind("\n")
    for at in names:
        if at < end or at > last_row:
            continue
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at) + 1 or len(text)
        line = text[start:end]
        mark = next((mark for mark in "|\t,;" if mark in line), "")
        cells = [cell.strip(_AROUND) for cell in line.split(mark)] if mark else []
        heads = [number for number, cell in enumerate(cells) if COLUMN.fullmatch(cell)]
        # A comma may be one of a sentence or of code, and `|` one of a type or a command.
        is_head = all(map(_CELL.fullmatch, cells)) and line[:1].isalnum()
        if not heads or not (_RULE_LINE.match(text, end) if mark == "|" else is_head):
            continue
        width, row = line.count(mark), end
        while row < len(text):
            after = text.find("\n", row) + 1 or len(text)
            if text.count(mark, row, after) != width and not _RULE_LINE.match(text, row):
                break
            for number, cell in enumerate(text[row:after].split(mark)):
                value = cell.strip(_AROUND)
                if number in heads and _is_in_column(value):
                    begin = text.index(value, row)
                    spans.append((begin, begin + len(value)))
                row += len(cell) + 1
            row = after
        end = row
    return spans


_CELL = compile_lazily(r"\w[\w.-]{0,40}(?: \w[\w.-]{0,40})?")
_AROUND = " \t\r\n*`\"'"
_RULE_LINE = compile_lazily(r"[ \t]*[|+:-]*-{3}[-|+: ]*\n")


def _is_in_column(value: str) -> bool:
    if len(value) < 3 or " " in value or is_placeholder(value) or is_name(value):
        return False
    if is_plain(value):
        return is_no_word(value)
    return value.isdigit() or (is_mixed(value) and is_no_code(value))
