"""What people call secrets, and what their values look like. Pure.

The names are those of the languages that prompts are written in; the tests have a sentence for each. A value is judged by
what it is not: a placeholder, code, a number with a unit, a technical name, or a word that is said of passwords.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily

PASSWORD = (
    r"pass(?:words?|wd|phrase|code|wort|wörter|ord(?:et)?)|(?<![A-Za-z])pass|(?<![A-Za-z])pwd?(?![a-z])|pwd|kennwort|"
    r"mot\s+de\s+passe|(?<![A-Za-z])mdp|contraseña|contrasena|(?<![A-Za-z])clave|(?<![A-Za-z])senha|wachtwoord|"
    r"has[łl]o|(?<![A-Za-z])heslo|l[öo]senord(?:et)?|adgangskode(?:n)?|kodeord(?:et)?|salasana(?:ni)?|şifre|(?<![A-Za-z])parol[aă]|jelszó|"
    r"mật\s+khẩu|kata\s+sandi|парол[ьяюие]|κωδικ[όο]ς?|סיסמה|كلمة\s+(?:المرور|السر)|पासवर्ड|パスワード|密码|密碼|口令|비밀번호|암호"
)
_PIN = (
    r"(?<![A-Za-z])(?:pin(?:[ _-]?(?:code|number|nummer))?|puk|cv[vc]2?|otp|geheimzahl|code\s+pin|c[óo]digo\s+pin|"
    r"(?:(?:2fa|mfa|tfa|verification|security|access|unlock|one-time|door|gate|alarm|safe|entry)[ _-]code)|"
    r"(?:bestätigungs|sicherheits|zugangs|tür)code|code\s+(?:d['’]acc[èe]s|de\s+(?:sécurité|vérification))|"
    r"código\s+de\s+(?:seguridad|acceso|verificación))(?![A-Za-z])|暗証番号|認証コード|验证码|пин(?:-?код)?"
)
_TOKEN = (
    r"(?:aws[_ -]?)?secret[_ -]?access[_ -]?key|secret(?:[_ -]{0,2}key)?|tokens?(?![A-Za-z])|api[_ -]?(?:key|token|schlüssel)s?|"
    r"(?:access|private|account|secret|auth|encryption|signing|master|license|admin|service|deploy|client|app|application|"
    r"subscription|shared|webhook|session|bot)[_ -]?(?:key|token|secret|id[_ -]secret)|credentials?|"
    r"zugangsschlüssel|cl[ée]\s+(?:api|secrète|d['’]acc[èe]s)|jeton|clave\s+(?:api|secreta)|chave\s+(?:api|secreta)|"
    r"токен|ключ\s+api|トークン|apiキー|秘密鍵|令牌|密钥|密鑰|토큰|sas[_-]?token|connection[_ -]?string"
)
_BEGINNINGS = """
pass pwd pw kennwort mot mdp contrase clave senha wachtwoord hasł haslo heslo lösenord losenord adgangskode
kodeord salasana şifre parol jelszó mật kata парол κωδικ סיסמה كلمة पासवर्ड パスワード 密码 密碼 口令 비밀번호 암호 pin puk
cvv cvc otp geheimzahl código codigo 2fa mfa tfa verification security access unlock one-time door gate
alarm safe entry bestätigungs sicherheits zugangs tür 暗証番号 認証コード 验证码 пин aws secret token api private
account auth encryption signing master license admin service deploy client app subscription shared webhook
session bot credential clé cle jeton chave токен ключ トークン 秘密鍵 令牌 密钥 密鑰 토큰 sas connection
"""
NAME_CUES = frozenset((*_BEGINNINGS.split(), "code p", "code d"))
"""The beginnings of these names, in small letters."""
NAME = rf"(?P<name>(?P<pin>{_PIN})|(?P<token>{_TOKEN})|(?:{PASSWORD}))"
SUFFIX = r"(?:[_-](?:base|prod|production|dev|staging|test|live|value|string|text|new|old|root|admin|user|db)|_?\d{1,2})?"

_PLACEHOLDER = compile_lazily(
    r"[$<{%\[(].*|[*#@&!][\w./*-]*|[/~.`].*"  # $TOKEN, ${X}, <token>, {{x}}, [secret], ***, a path
    r"|https?://.*|\w+\(.*|\w+\[.*|.*\$\{.*"  # an address, a call, a lookup
    r"|(?:os|env|process|self|this|config|settings|secrets|vault|ctx|req|request|props|args|vars?|data|params|user|options?)\.[a-z].*"
    r"|[A-Z][A-Z0-9]*_[A-Z0-9_]*"  # THE_NAME_OF_A_VARIABLE
    r"|[xX*.•_?-]{3,}|\.{3}.*|-+|[|&]+.*|[xX*.•_-]*"
    r"|(?:str(?:ing)?|int|bytes|bool(?:ean)?|none|null|nil|true|false|undefined|any|object|optional|required|number|text|"
    r"missing|invalid|expired|empty|redacted|example|changeme|change[_-]me|placeholder|hidden|masked|dummy|todo|disabled|enabled|unset|default|"
    r"your[\w-]*|my[_-]?(?:password|token|key|secret|api|pass)[\w-]*)[.!?|]?.{0,1}"
    r"|(?:ask|see|use|stored|kept|in|from|via|set|read)[ :_-].*",
    re.DOTALL | re.IGNORECASE,
)
TECHNICAL = compile_lazily(
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
UNITS = compile_lazily(
    r"[~<>=≥≤+-]*\d[\d.,:_-]*(?:[a-zA-Z%]{1,12}|-[a-z]+(?:-[a-z]+)?)?[.!?]*|\d+x\d+.*", re.ASCII
)
CODE = compile_lazily(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+(?:[(\[].*)?|.*[(\[{].*|[a-z]+(?:[A-Z][a-z]+)+\d?|"
    r"(?:[a-z]+[_-]){1,8}[a-z]+\d{0,2}|[\w.-]+\.[a-z]{2,4}|.*[/\\].*"
)
MESSAGE = compile_lazily(
    r"\b(?:must|should|is|are|be|required|invalid|please|your|the|at least|enter|forgot|reset|change|wrong|incorrect|missing|"
    r"cannot|can't|not|has|have|of|for|to|muss|est|ist|debe|und|and|or|with)\b",
    re.IGNORECASE,
)
_ORDINARY = """
account accounts admin administrator again also always anders apple aquí argon ascii authentication
authorization awesome base bcrypt bestandteil better bitwarden blank blöd body bonne both bound broken buena
bueno built bullshit button central change changes check checks chosen class clear cleartext column compris
confidentiel confirmation connu cookie cookies correct correcta corta court courte crap create critical
crucial dashboard data database delete dialog difícil docker done doppelt dort dumb débil débile débiles
each easy egal either email english enough error errors essential every facebook failure falsa falsch false
faux field fields file files fine first flag forgotten form forms fort found free frei french fuerte full
function fácil garbage german geschichte github gitlab given gleich global gone good google great half hard
hash hashes header headers held help here hers hidden hide hier hint hmac home homepage host huge identical
immer importante inconnu inconnue incorrect incorrecta incorrecto initial input inputs inutile jetzt json
junk just kaputt keepass kept keychain klar klartext known kubernetes kurz label lang larga large last
lastpass later ldap leer left legacy length line lines link list local login logout long longue lost made
mail mala malo manager managers mandatory mauvais mauvaise maximum metadata method mine minimum misma mist
modal module moot more mysql name names nein neither never next nice nicht noch none nonsense normal note
nouveau nueva nuevo null oauth object obligatoire obligatoria offen oidc okay once only open option options
ours output overkill package page pages parameter pareil part passkey passkeys perdu pflicht plain plaintext
policies policy postgres private problem production prompt prompts protection public quatsch query random
read readonly ready real record recovery redis register remote requis reset resets right root rule rules
sache safe salt same saml schlecht schwach screen scrypt second secret secreta secreto secrète secure seen
segura seguro server session sessions settings short show shown shut sicher signin signup silly simple slack
small sold some someone soon spanish special spelt split spoken standard stark state step still stolen
storage store stores strange strength strong stupid success sûre tabu taken teil test tests text that theirs
them thema there these they this those tiny today token tokens told tomorrow totp trash trivial trop true
twice type types ugly unclear unicode unique unklar unknown unsicher unsinn update user username users vacía
vacío valid validation value values vault verification vide vieja viejo vieux vital void vrai weak weird
what when where which word words worse write written wrong yaml yours zero
"""
"""What is said of a password, and what stands where its value could be; also in German, French and Spanish."""
_ORDINARY_WORDS = frozenset(_ORDINARY.split())
_PREDICATE = compile_lazily(
    r".*(?:ed|ing|able|ible|ive|ful|less|ary|ous|ent|ptional|(?:r|t)ic|é|ée|és|aire|ad[oa]s?|id[oa]s?|[bk]ar|lich|los|iert|isch|ig|haft|feld|case|ant|[un]al)"
    r"|ge.*(?:t|en)|(?:ver|be|ent|er|ab|aus|ein).*(?:t|en)"
)
"""Participles, adjectives and adverbs, by their endings."""
_HEAD = compile_lazily(NAME, re.IGNORECASE)
COLUMN = compile_lazily(rf"(?!pass\Z)(?:\w{{1,20}}[ _])?(?:{NAME})", re.IGNORECASE)
CLAUSE_END = compile_lazily(
    r"[\"'*`]{0,2}(?:[.,;!?)。、」]|[ \t]*(?:\n|\Z|\()|[ \t]+(?:-|–|—|&&|\||//|#|(?:and|but|und|aber|et|mais|y|pero|btw|please|thanks|bitte|danke|merci|gracias|user|host|port|dbname)\b))"
)
_CHUNK = compile_lazily(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
TRAILING = ".!?:,;。"


def is_random(value: str, most: float = 3.5) -> bool:
    """Whether letters and digits are so mixed that they are not words: about every second character changes the kind."""
    chunks = _CHUNK.findall(value)
    return any(map(str.isdigit, value)) and bool(chunks) and len(value) / len(chunks) < most


def is_placeholder(value: str) -> bool:
    """Whether a value is a variable, a type, a call, a path, or a word in place of a secret."""
    if _PLACEHOLDER.fullmatch(value) is None:
        return False
    mixed = len(value) >= 16 and value.isidentifier() and not value.isupper()
    return not ((mixed or value[0] in "/~.") and is_random(value, 3.0 if mixed else 3.5))


def is_mixed(value: str) -> bool:
    """Whether letters are mixed with digits or signs, as in no word of a sentence."""
    inner = value.rstrip(TRAILING)
    signs = sum(not char.isalnum() and char not in "-_./'’" for char in inner)
    return any(map(str.isalpha, inner)) and (signs > 0 or any(map(str.isdigit, inner)))


def is_plain(value: str) -> bool:
    return value.rstrip(TRAILING).replace("-", "").replace("_", "").isalpha()


def is_name(value: str) -> bool:
    return _HEAD.match(value.casefold()) is not None


def is_no_code(value: str) -> bool:
    if _COUNTED.fullmatch(value):
        return False
    return is_random(value) or not (CODE.fullmatch(value) or UNITS.fullmatch(value))


def is_no_word(value: str) -> bool:
    """Whether a word of letters is none of those that are said of a password, or in its place, and no identifier."""
    word = value.rstrip(TRAILING).casefold()
    if "_" in word or word.count("-") in (1, 2) or re.search("[a-z][A-Z]", value):
        return False
    known = word in _ORDINARY_WORDS or _PREDICATE.fullmatch(word) or TECHNICAL.fullmatch(word)
    return len(word) >= 4 and not known


# --- a name and its value ------------------------------------------------------------------------------------------

_FOR = (
    r"(?:\s(?:for|of|to|on|in|at|für|fürs|von|vom|zum|zur|im|auf|de|del|du|des|pour|sur|van|voor|do|da|para)\s"
    r"(?:(?:the|our|my|this|der|die|das|den|dem|la|le|les|el|los|mi|mon|unser\w*)\s)?[\w.@/-]{1,40}(?:\s[\w.@/-]{1,20})?){0,2}"
)
_VERB = r"is|was|ist|war|lautet|heißt|est|sera|es|era|é|è|är|er|on|to|auf|en|à|jest|je|olan|là|adalah|это|είναι|c['’]est|will\sbe|should\sbe"
_LINK = (
    r"(?P<link>(?P<assigned>\s{0,3}(?:::?=|==?>?|:|：|＝)\s{0,3})"
    rf"|(?P<column>\s{{0,20}}\|\s{{0,20}}|\t{{1,3}}|[ ]{{2,20}})"
    rf"|(?P<said>{_FOR}(?:\s{{1,2}}(?P<verb>{_VERB})(?:\s(?:now|still|just|jetzt|nun|maintenant|ahora))?(?::|\s:)?|\s?:)\s{{1,2}})"
    r"|(?P<asian>\s?(?:は|が|是|为|為|는|은|이)\s?(?=[「『\"'“‘`!-~]))"
    r"|\s{1,2})"
)
_VALUE = (
    r"(?P<quote>[\"'`“‘「『„«]?)(?P<value>(?<=[\"'`“‘「『„«])[^\"'`”’」』“»\n]{1,300}(?=[\"'`”’」』“»])"
    r"|[!#-&(-~]{4,300}+(?=[\u3000-\u9fff\uac00-\ud7af])|[^\s\"'`“”‘’「」『』«»,;)}<>|]{2,300}+)"
)
NAMED = compile_lazily(rf"{NAME}{SUFFIX}(?![A-Za-z_])[\"'`\])”*]{{0,3}}{_LINK}{_VALUE}", re.IGNORECASE)


def is_named(found: re.Match[str]) -> bool:
    """A value after a name: `password=…`, "the password for x is …", "password …", a table's cell."""
    value, name, token = found["value"], found["name"], found["token"] is not None
    link, inner = found["link"].strip(), value.rstrip(TRAILING)
    if TECHNICAL.fullmatch(value) or is_name(value):
        return False
    if found["column"] and not _is_cell(found):
        return False
    if inner.isdigit():
        return not token and _is_number(found, inner)
    if found["quote"]:
        if link:
            return len(value) >= 4 and (" " not in value or (not token and not MESSAGE.search(value)))
        if token or name.casefold() == "pass":
            return len(value) >= 12 and is_random(value)
        return " " not in value and len(value) >= 4 and (is_mixed(value) or is_no_word(value))
    if is_plain(value):
        return not found["pin"] and _is_word_after(found)
    if found["assigned"] and link.startswith("="):
        return len(value) >= 4 and not (CODE.fullmatch(inner) and not is_random(value))
    if found["asian"] and not value.isascii():
        return False
    if link:
        least = 4 if found["assigned"] and not token else 6
        digits = (
            bool(found["assigned"])
            or not (token or name.casefold() == "pass")
            or any(map(str.isdigit, value))
        )
        return len(inner) >= least and digits and is_mixed(value) and is_no_code(inner)
    return _is_beside(inner, token)


def _is_beside(inner: str, token: bool) -> bool:
    """With only a space between name and value, the value must look like nothing that occurs in a sentence."""
    if len(inner) < 6 or "\\" in inner or not any(map(str.isdigit, inner)):
        return False
    if not is_mixed(inner) or not is_no_code(inner):
        return False
    if not token:
        return re.fullmatch(r"[a-z]+-\d+|[A-Z]{2,}-?\d+|\d+[a-z]+|#\d+", inner) is None
    return len(inner) >= 12 and is_random(inner) and not re.fullmatch(r"[0-9a-f]{7,12}|[0-9a-f-]{36}", inner)


def _is_number(found: re.Match[str], digits: str) -> bool:
    """Four digits or more: with a space alone before them only those of a PIN, and no year unless `:` or `=` precedes."""
    least = 3 if found["name"].casefold().startswith("cv") else 4
    year = len(digits) == 4 and digits.startswith(("19", "20"))
    linked = found["link"].strip() or found["column"] or found["pin"]
    return len(digits) >= least and bool(found["assigned"] or (linked and not year))


def _is_word_after(found: re.Match[str]) -> bool:
    """A value of letters alone: it must end its clause, and be no word that is said of passwords."""
    value, name, text = found["value"], found["name"], found.string
    if found["link"].strip() == "=" and name.isupper() and len(value) >= 3:
        return True  # DB_PASS=geheim: an environment file, not code
    if found["token"] or not is_no_word(value):
        return False
    ends = value[-1] in TRAILING or CLAUSE_END.match(text, found.end()) is not None
    ends = ends or (value[0].isupper() and _FOR_WHAT.match(text, found.end()) is not None)
    if not (ends or found["asian"]) or (
        name.casefold() == "pass" and not _ACCOUNT.search(text, max(0, found.start() - 40), found.start())
    ):
        return False
    if found["assigned"]:
        # `f(password=word, …)` is code, `user=x password=word` is a connection.
        closed = text[found.end() : found.end() + 1] in (",", ")", ";")
        if "=" in found["link"]:
            return (found["link"] == "=" and not closed) or _is_setting(found)
        return found["link"] != ":" or text[max(0, found.start() - 1) : found.start()] not in ("'", '"', "`")
    if found["said"]:
        verb = (found["verb"] or "").casefold()
        if verb in ("to", "auf", "en", "à") and not name.casefold().startswith("has"):
            return _CHANGE.search(text, max(0, found.start() - 60), found.start()) is not None
        return verb != "on" or name.casefold().startswith("salas")
    return bool(found["asian"] or found["column"])


def _is_setting(found: re.Match[str]) -> bool:
    """Whether name, ` = ` and value are a whole line of a settings file, without a word or a call of a program."""
    begin = found.string.rfind("\n", 0, found.start()) + 1
    alone = re.fullmatch(r"[\w.-]{0,40}", found.string[begin : found.start()])
    return alone is not None and _LINE_END.match(found.string, found.end()) is not None


def _is_cell(found: re.Match[str]) -> bool:
    """Whether name and value are a whole row of a table, and not its head."""
    text, start, end = found.string, found.start(), found.end()
    row = _ROW_START.search(text, max(0, start - 40), start)
    return row is not None and _ROW_END.match(text, end) is not None


_ROW_START = compile_lazily(r"(?:\A|\n)[ \t|*`\"']*\Z")
_ROW_END = compile_lazily(r"[ \t]*\|?[ \t]*(?:\r?\n|\Z)(?![ \t]*[|+:-]*-{3})")
_LINE_END = compile_lazily(r"[ \t]*(?:\r?\n|\Z)")
_FOR_WHAT = compile_lazily(r"\s(?:for|on|in|für|auf|pour|sur|para)\b")
_ACCOUNT = compile_lazily(r"user|login|account|konto", re.IGNORECASE)
_CHANGE = compile_lazily(r"chang|set|reset|updat|änder|setz|stell|mets|mettre|cambi|pon", re.IGNORECASE)


# --- tokens that are recognised by their own shape


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
_ISSUED = compile_lazily(
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
        spans += (found.span() for found in _ISSUED.finditer(text, *run.span()))
    return spans
