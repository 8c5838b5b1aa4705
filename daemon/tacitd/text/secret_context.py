"""Values that are secrets because of the text before them: a name, a command's option, a header, an address. Pure.

What people write counts as much as what is in files: "the password is hunter2", `mysql -psecret`, `DB_PASS=…`, in the
languages of `_PASSWORD`. The less the context proves, the more the value itself must look like a secret, so that
sentences about passwords are kept whole. Each rule is a pattern with the group `value`, and a judgement of that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tacitd.text.lazy_pattern import compile_lazily

_PASSWORD = (
    r"pass(?:words?|wd|phrase|code|wort|ord)|(?<![A-Za-z])pass|(?<![A-Za-z])pwd?|pwd|"
    r"kennwort|mot\s+de\s+passe|(?<![A-Za-z])mdp|contraseña|contrasena|(?<![A-Za-z])clave|(?<![A-Za-z])senha|wachtwoord|"
    r"has[łl]o|(?<![A-Za-z])heslo|l[öo]senord|adgangskode|kodeord|salasana|şifre|(?<![A-Za-z])parol[aă]|jelszó|"
    r"mật\s+khẩu|kata\s+sandi|парол[ьяюие]|пароль|κωδικ[όο]ς?|סיסמה|כלמת|كلمة\s+(?:المرور|السر)|पासवर्ड|"
    r"パスワード|暗証番号|密码|密碼|口令|비밀번호|암호"
)
_TOKEN = (
    r"(?:aws[_ -]?)?secret[_ -]access[_ -]key|secret(?:[_ -]?key)?|tokens?(?![A-Za-z])|api[_ -]?(?:key|token|schlüssel)s?|"
    r"(?:access|private|account|secret|auth|encryption|signing|master|license|admin|service|deploy|client|app|application|"
    r"subscription|shared|webhook|session|bot)[_ -]?(?:key|token|secret|id[_ -]secret)|credentials?|"
    r"zugangsschlüssel|cl[ée]\s+(?:api|secrète|d['’]acc[èe]s)|jeton|clave\s+(?:api|secreta)|chave\s+(?:api|secreta)|"
    r"токен|ключ\s+api|トークン|apiキー|秘密鍵|令牌|密钥|密鑰|토큰|"
    r"sas[_-]?token|connection[_ -]?string|pin[_ -]?code"
)
_SUFFIX = r"(?:[_-](?:base|prod|production|dev|staging|test|live|value|string|text|new|old|root|admin|user|db)|_?\d{1,2})?"
_VALUE = r"(?P<quote>[\"'`“‘「『]?)(?P<value>(?<=[\"'`“‘「『])[^\"'`”’」』\n]{1,300}(?=[\"'`”’」』])|[^\s\"'`“”‘’「」『』,;)}<>]{2,}+)"
_NAME = rf"(?P<name>(?P<password>{_PASSWORD})|{_TOKEN})"
_FOR = r"(?:\s(?:for|of|to|on|in|für|von|zum|zur|de|del|du|pour|van|voor|do|da|para)\s[\w.@/-]{1,40}){0,2}"
_IS = r"is|was|ist|war|lautet|heißt|est|es|é|è|är|er|on|to|jest|je|olan|là|adalah|это|είναι"

_HEAD = compile_lazily(_NAME, re.IGNORECASE)
_ASSIGNED = compile_lazily(
    rf"{_NAME}{_SUFFIX}(?![A-Za-z_])[\"'`\])”*]{{0,3}}(?P<sep>\s{{0,3}}(?:::?=|==?>?|=>|:|：|＝)\s{{0,3}}){_VALUE}",
    re.IGNORECASE,
)
_SAID = compile_lazily(
    rf"{_NAME}{_SUFFIX}[\"'`*]{{0,2}}{_FOR}\s{{1,2}}(?:{_IS}|:)(?::|\s*:)?\s{{1,2}}(?={_VALUE})",
    re.IGNORECASE,
)
_BESIDE = compile_lazily(rf"{_NAME}{_SUFFIX}[\"'`*]{{0,2}}\s{{1,2}}(?={_VALUE})", re.IGNORECASE)
_EAST_ASIAN = compile_lazily(
    rf"{_NAME}\s?(?:は|が|是|为|為|는|은|이|:|：)\s?(?P<quote>[「『\"'“‘`]?)(?P<value>[!-~]{{4,}}+)",
    re.IGNORECASE,
)
_NAMED_KEY = compile_lazily(
    r"(?P<before>[\w-]*)[ _-]?\bkeys?[\"'`]?(?:\s{0,2}[:=]\s{0,2}|\s(?:is|was|ist)\s:?\s?|\s)[\"'`]?(?P<value>[0-9a-f]{32}(?:[0-9a-f]{8}|[0-9a-f]{32})?)(?![\w-])",
    re.IGNORECASE,
)

_VALUE_OF_HEADER = r"(?P<value>[A-Za-z0-9._~+/=:%-]{16,}+)"
_HEADERS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        ("authorization",),
        compile_lazily(
            r"\bauthorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:(?:bearer|basic|token|apikey|bot|key|digest)\s+)?"
            + _VALUE_OF_HEADER,
            re.IGNORECASE,
        ),
    ),
    (
        ("x-",),
        compile_lazily(
            r"\bx-[a-z-]{0,30}(?:key|token|secret|auth|signature)[a-z-]{0,10}[\"']?\s{0,2}[:=]\s{0,2}[\"']?"
            + _VALUE_OF_HEADER,
            re.IGNORECASE,
        ),
    ),
    (("bearer", "basic"), compile_lazily(rf"\b(?:bearer|basic)\s+{_VALUE_OF_HEADER}", re.IGNORECASE)),
    (
        ("session", "sid=", "jsessionid", "phpsessid"),
        compile_lazily(
            rf"\b(?:session(?:_?id)?|sid|connect\.sid|jsessionid|phpsessid)={_VALUE_OF_HEADER}",
            re.IGNORECASE,
        ),
    ),
)
_PARAMETER = compile_lazily(
    r"[?&;#](?P<name>[\w.-]{0,40}?(?:token|key|secret|password|passwd|pwd|pass|sig|signature|auth|credential|session|sid|jwt|otp|code))"
    r"=(?P<value>[^&\s#\"'<>`)\]]{4,}+)",
    re.IGNORECASE,
)
_HOOK = compile_lazily(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|\.webhook\.office\.com/webhookb2/|"
    r"maker\.ifttt\.com/use/|api\.telegram\.org/bot|softlayer\.com/soap/v3(?:\.1)?/)(?P<value>[A-Za-z0-9_/:@-]{20,}+)"
)
_USER = compile_lazily(
    r"://(?:[^\s:/@\"'<>]{0,100}:(?P<value>[^\s@/\"'<>]{1,200})|(?P<lone>[A-Za-z0-9_-]{16,200}))(?=@)"
)
_KEPT_IN_AZURE = compile_lazily(
    r"(?:AccountKey|SharedAccessKey|AccessKey|sig)=(?P<value>[A-Za-z0-9+/%=]{32,}+)"
)

_PLACEHOLDER = compile_lazily(
    r"[$<{%\[(*#@&/~.!`].*"  # $TOKEN, ${X}, <token>, {{x}}, [secret], ***, a path
    r"|https?://.*|\w+\(.*|\w+\[.*|.*\$\{.*"  # an address, a call, a lookup
    r"|(?:os|env|process|self|this|config|settings|secrets|vault|ctx|req|request|props|args|vars?|data|params|user|options?)\.[a-z].*"
    r"|[A-Z][A-Z0-9]*_[A-Z0-9_]*"  # THE_NAME_OF_A_VARIABLE
    r"|[xX*.•_?-]{3,}|\.{3}.*|-+|[|&]+.*"
    r"|(?:str(?:ing)?|int|bytes|bool(?:ean)?|none|null|nil|true|false|undefined|any|object|optional|required|number|text|"
    r"missing|invalid|expired|empty|redacted|example|changeme|change[_-]me|placeholder|hidden|masked|dummy|todo|disabled|enabled|unset|default|"
    r"your[\w-]*|my[_-]?(?:password|token|key|secret|api|pass)[\w-]*)[.!?|]?.{0,1}"
    r"|(?:ask|see|use|stored|kept|in|from|via|set|read)[ :_-].*",
    re.DOTALL | re.IGNORECASE,
)
_TECHNICAL = compile_lazily(
    r"(?:sha|md|base|utf|rs|hs|es|ps|ed|aes|argon|bcrypt|scrypt|pbkdf|oauth|auth|http|iso|u?int|float|rfc|tls|ssl|jwt|ecma|"
    r"python|node|py|web|log|ipv|secp|curve|rsa|dsa|ecdsa|hmac|pkcs|totp|fido)[-_]?\d{1,5}(?:[-_.][\w.-]*|[a-z]{0,4})[.!?]*|"
    r"(?:[pvx]\d+(?:\.\d+)*|s3|ec2|k8s?|i18n|l10n|a11y|h26[45]|mp[34]|x509)[.!?]*",
    re.IGNORECASE,
)
_COUNTED = compile_lazily(
    r"(?:field|input|box|step|page|form|test|user|case|option|version|part|phase|item|column|row|rule|policy|level|type|"
    r"section|chapter|file|line|task|issue|prompt|stage|tier|layer|group|index|number|hash|salt|bucket|ring|limit|count|store|"
    r"handler|service|manager|provider|param|arg|var|value|key|token|secret|password|pass|id|mfa|otp)s?[-_]?\d{1,3}[.!?]*",
    re.IGNORECASE,
)
_UNITS = compile_lazily(
    r"[~<>=≥≤+-]*\d[\d.,:_-]*(?:[a-zA-Z%]{1,12}|-[a-z]+(?:-[a-z]+)?)?[.!?]*|\d+x\d+.*", re.ASCII
)
_MESSAGE = compile_lazily(
    r"\b(?:must|should|is|are|be|required|invalid|please|your|the|at least|enter|forgot|reset|change|wrong|incorrect|missing|"
    r"cannot|can't|not|has|have|of|for|to|muss|est|ist|debe|und|and|or|with|must)\b",
    re.IGNORECASE,
)
_CODE = compile_lazily(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+(?:[(\[].*)?|.*[(\[{].*|[a-z]+(?:[A-Z][a-z]+)+\d?|(?:[a-z]+[_-]){1,8}[a-z]+\d{0,2}|[\w.-]+\.[a-z]{2,4}|.*[/\\].*"
)
_RANDOM_WORDS = compile_lazily(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_TRAILING = ".!?:,;。"

Spans = list[tuple[int, int]]
Judgement = Callable[[re.Match[str]], bool]


def find_in_context(text: str) -> Spans:
    """The spans of values that their context makes secrets; they may overlap.

    The words of a rule are searched as plain strings first, which is ten times as fast as its pattern.
    """
    small = text.replace("İ", "I").lower()  # its small form is longer, which would shift offsets
    spans = _find_named(text, small)
    for stems, pattern, is_secret in _PLACED:
        spans += _find_at(_places(small, stems), text, pattern, is_secret)
    for words, pattern, is_secret in _RULES:
        if any(word in small for word in words):
            spans += (value_span(found) for found in pattern.finditer(text) if is_secret(found))
    if "key" in small and _KEY_AND_HEX.search(small):
        spans += (value_span(found) for found in _NAMED_KEY.finditer(text) if _is_named_key(found))
    return spans


def _find_named(text: str, small: str) -> Spans:
    """The values after a name."""
    places = [at for at in _places(small, _STEMS) if _HEAD.match(text, at)]
    return [span for pattern, is_secret in _NAMED for span in _find_at(places, text, pattern, is_secret)]


def _find_at(places: list[int], text: str, pattern: re.Pattern[str], is_secret: Judgement) -> Spans:
    """Matches that begin at one of the places, in order."""
    spans: Spans = []
    end = 0
    for at in places:
        # A place within the last match is skipped. Otherwise a long run of names would take quadratic time.
        if at >= end and (found := pattern.match(text, at)):
            end = found.end()
            if is_secret(found):
                spans.append(value_span(found))
    return spans


def _places(small: str, stems: tuple[str, ...]) -> list[int]:
    """The offsets at which one of the stems begins, in order."""
    places: set[int] = set()
    for stem in stems:
        at = small.find(stem)
        while at >= 0:
            places.add(at)
            at = small.find(stem, at + 1)
    return sorted(places)


def value_span(found: re.Match[str]) -> tuple[int, int]:
    """The span of the value, without quotes and what ends a sentence."""
    group = found.lastgroup if "value" not in found.re.groupindex else "value"
    if "lone" in found.re.groupindex and found["value"] is None:
        group = "lone"
    start, end = found.span(group or 0)
    while start < end and found.string[start] in "\"'":
        start += 1
    return start, end


def is_random(value: str) -> bool:
    """Whether letters and digits are so mixed that they are not words: about every second character changes the kind."""
    words = _RANDOM_WORDS.findall(value)
    return any(map(str.isdigit, value)) and bool(words) and len(value) / len(words) < 3.5


def is_placeholder(value: str) -> bool:
    """Whether a value is a variable, a type, a call, or a word in place of a secret."""
    return _PLACEHOLDER.fullmatch(value) is not None or value == "" or set(value) <= set("xX*.-_•")


def is_mixed(value: str) -> bool:
    """Whether letters are mixed with digits or signs, as in no word of a sentence."""
    inner = value.rstrip(_TRAILING)
    signs = sum(not char.isalnum() and char not in "-_./'’" for char in inner)
    return any(map(str.isalpha, inner)) and (signs > 0 or any(map(str.isdigit, inner)))


def _is_plain(value: str) -> bool:
    return value.rstrip(_TRAILING).replace("-", "").replace("_", "").isalpha()


def _is_name(value: str) -> bool:
    return _HEAD.match(value.casefold()) is not None


def _is_assigned(found: re.Match[str]) -> bool:
    value, sep = found["value"], found["sep"]
    name = found["name"]
    if is_placeholder(value) or _TECHNICAL.fullmatch(value) or _is_name(value):
        return False
    inner = value.rstrip(_TRAILING)
    if inner.isdigit():
        return found["password"] is not None and len(inner) >= 4
    if found["quote"]:
        return len(value) >= 4 and (
            " " not in value or (found["password"] is not None and not _MESSAGE.search(value))
        )
    if sep == "=":
        if not _is_plain(value):
            return len(value) >= 4 and not (_CODE.fullmatch(value) and not is_random(value))
        return name.isupper() and len(value) >= 3  # DB_PASS=geheim: an environment file, not code
    return not _is_plain(value) and len(inner) >= 6 and is_mixed(value) and is_no_code(inner)


def is_no_code(value: str) -> bool:
    if _COUNTED.fullmatch(value):
        return False
    return is_random(value) or not (_CODE.fullmatch(value) or _UNITS.fullmatch(value))


def _is_said(found: re.Match[str]) -> bool:
    value = found["value"]
    if is_placeholder(value) or _TECHNICAL.fullmatch(value) or _is_name(value):
        return False
    inner = value.rstrip(_TRAILING)
    if found["quote"]:
        return len(value) >= 4 and (
            " " not in value or (found["password"] is not None and not _MESSAGE.search(value))
        )
    if inner.isdigit():
        return found["password"] is not None and len(inner) >= 4 and not inner.startswith(("19", "20"))
    return len(inner) >= 6 and any(map(str.isdigit, value)) and is_mixed(value) and is_no_code(inner)


def _is_beside(found: re.Match[str]) -> bool:
    """With only a space between name and value, the value must look like nothing that occurs in a sentence."""
    value = found["value"]
    if is_placeholder(value) or _TECHNICAL.fullmatch(value) or _is_name(value):
        return False
    if found["quote"]:
        return found["password"] is not None and len(value) >= 4 and " " not in value and is_mixed(value)
    inner = value.rstrip(_TRAILING)
    if (
        len(inner) < 6
        or "\\" in inner
        or not any(map(str.isdigit, inner))
        or not is_mixed(inner)
        or not is_no_code(inner)
    ):
        return False
    if found["password"] is not None:
        return re.fullmatch(r"[a-z]+-\d+|[A-Z]{2,}-?\d+|\d+[a-z]+|#\d+", inner) is None
    return (
        len(inner) >= 12 and is_random(inner) and re.fullmatch(r"[0-9a-f]{7,12}|[0-9a-f-]{36}", inner) is None
    )


def _is_named_key(found: re.Match[str]) -> bool:
    before = (
        found["before"].casefold().rstrip("_-")
        or found.string[max(0, found.start() - 14) : found.start()].casefold().split(" ")[-1]
    )
    return not before.endswith(
        (
            "cache",
            "primary",
            "foreign",
            "sort",
            "partition",
            "public",
            "map",
            "object",
            "redis",
            "idempotency",
            "routing",
            "row",
            "hash",
            "lookup",
            "dict",
            "s3",
            "index",
            "dedupe",
            "etag",
            "group",
        )
    )


def _is_header(found: re.Match[str]) -> bool:
    value = found["value"]
    return any(map(str.isdigit, value)) and (
        is_random(value) or re.search(r"[0-9a-f]{16}|\d[A-Za-z]", value) is not None
    )


def _is_parameter(found: re.Match[str]) -> bool:
    value, name = found["value"], found["name"].casefold()
    if is_placeholder(value) or _is_name(value):
        return False
    if name.endswith(("password", "passwd", "pwd", "pass")):
        return True
    if name.endswith(("key", "code", "auth", "sid", "session")):
        return len(value) >= 12 and is_random(value)
    return len(value) >= 8 and any(map(str.isdigit, value))


def _is_user(found: re.Match[str]) -> bool:
    value = found["value"]
    if value is None:
        return is_random(found["lone"])
    return not value.startswith(("$", "<", "{", "[", "*", "%", "(")) and not is_placeholder(value)


def _always(found: re.Match[str]) -> bool:
    return True


_STEMS = (
    "pass",
    "pwd",
    "pw",
    "kennwort",
    "mot",
    "mdp",
    "contrase",
    "clave",
    "senha",
    "wachtwoord",
    "hasł",
    "haslo",
    "heslo",
    "lösenord",
    "losenord",
    "adgangskode",
    "kodeord",
    "salasana",
    "şifre",
    "parol",
    "jelszó",
    "mật",
    "kata",
    "парол",
    "κωδικ",
    "סיסמה",
    "כלמת",
    "كلمة",
    "पासवर्ड",
    "パスワード",
    "暗証番号",
    "密码",
    "密碼",
    "口令",
    "비밀번호",
    "암호",
    "aws",
    "secret",
    "token",
    "api",
    "access",
    "private",
    "account",
    "auth",
    "encryption",
    "signing",
    "master",
    "license",
    "admin",
    "service",
    "deploy",
    "client",
    "app",
    "subscription",
    "shared",
    "webhook",
    "session",
    "bot",
    "credential",
    "zugangs",
    "clé",
    "cle",
    "jeton",
    "chave",
    "токен",
    "ключ",
    "トークン",
    "秘密鍵",
    "令牌",
    "密钥",
    "密鑰",
    "토큰",
    "sas",
    "connection",
    "pin",
)
"""The beginnings of the names of `_PASSWORD` and `_TOKEN`, in small letters."""
_NAMED: tuple[tuple[re.Pattern[str], Judgement], ...] = (
    (_ASSIGNED, _is_assigned),
    (_SAID, _is_said),
    (_BESIDE, _is_beside),
    (_EAST_ASIAN, _is_said),
)
_PLACED: tuple[tuple[tuple[str, ...], re.Pattern[str], Judgement], ...] = (
    *((stems, pattern, _is_header) for stems, pattern in _HEADERS),
    (
        ("hooks.", "discord", ".webhook.", "maker.ifttt.com/use/", "api.telegram.org/bot", "softlayer"),
        _HOOK,
        _always,
    ),
    (("accountkey=", "sharedaccesskey=", "accesskey=", "sig="), _KEPT_IN_AZURE, _always),
)
"""The beginning of a match, in small letters; the pattern; the judgement."""
_KEY_AND_HEX = compile_lazily(r"key[^\n]{0,9}?[0-9a-f]{32}")
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], Judgement], ...] = (
    (("://",), _USER, _is_user),
    (("=",), _PARAMETER, _is_parameter),
)
"""What a text must contain; the pattern, which begins with a fixed character; the judgement."""
