"""What a fact is stored as: one short line, without the "User" that every fact is about anyway, and what an agent may store without
asking the person (SPEC S-27, S-67). Pure.

A learned line is loaded into every later session. It must therefore not break out of its bullet, not import other files (Claude Code
expands `@path` outside backticks), not hide anything from the user who reads the file, and not imitate a prompt. What it may ask for is
decided by what was typed, see `shared/words`. What an agent stores nobody typed: what is dangerous as an order, runs a command, names an
address, contains a secret or a tag waits for the person. Descriptions of files, tools and behaviour pass.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tacitd.text.import_words import quote_imports
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import SECRET, has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.model_text import FACT_LIMIT, capitalise, strip_marks, strip_user
from tacitd_handlers.shared.polarity import CJK
from tacitd_handlers.shared.words import judge_text

_LABEL = compile_lazily(
    r"(?:\*\*|__)?(?:(?:(?:user|stated|new|extracted) +)*(?:preference|fact|opinion|belief|stance|want)s?)(?:\*\*|__)?:(?:\*\*|__)? *(?=\S)",
    re.IGNORECASE,
)
_HIDING = compile_lazily(r"<!--|-->")
"""Not refused within backticks, where it is shown as it is."""
_CODE = compile_lazily(r"`[^`]*`")
_HARD = (
    (
        # "The `<system>` tag" and "the <instructions> element" name a tag; nothing is inside it.
        compile_lazily(
            r"(?!(?:</?[\w:-]+>`|<[\w:-]+> (?:tags?|elements?|nodes?|blocks?|messages?(?!\W*:))\b))"
            r"</?(?:system|system-reminder|instructions?|tool_use|tool_result|function_calls?|invoke|antml[\w:]*)\b[^>]*>",
            re.IGNORECASE,
        ),
        "it imitates a part of a prompt",
    ),
    (
        compile_lazily(r"\b(?:javascript|vbscript):(?=\S)", re.IGNORECASE),
        "it contains an address that runs code",
    ),
    (
        compile_lazily(
            r"(?:^|[\s.!?>*_])(?:Human|Assistant|HUMAN|ASSISTANT)\s*[*_]*\s*:"
            r"(?!(?:(?i:(?<=prefix human:)|(?<=prefix assistant:)))\W*$)"
        ),
        "it imitates a turn of a conversation",
    ),
)

_NAME = compile_lazily(
    r"(?<![\w*`./])(?:[\w./-]*__[\w./*-]*|[\w./-]*\*{1,2}[./][\w./*-]*|\*{1,2}\w+(?![\w*]|[^*]*\w\*))(?<![.])"
)
"""A name of code with signs of emphasis. `*word*` and `**some words**` are emphasis."""


class Unfit(Struct, frozen=True):
    reason: str


def tidy_fact(text: str) -> str:
    """Given one line as a model or another tool wrote it, return the fact in it: no marks, no "Preference:", no "User"."""
    plain = strip_marks(text)
    label = _LABEL.match(plain)
    return strip_user(capitalise(plain[label.end() :]) if label else plain).strip()


def clean_fact(text: str) -> str | Unfit:
    """Given a fact from an answer, return the line for the file, without `- `, or why it is refused.

    The line has at most 300 characters, no leading "User", no leading marks and no control characters. `@names` are in
    backticks, so that they are not imports.
    """
    line = sanitize_line(text)
    if has_secret(line):  # checked in the sanitised line, because hidden characters could interrupt a secret
        return Unfit("it looks like a secret")
    shown = line if line.count("`") % 2 or "``" in line else _CODE.sub("` `", line)
    if _HIDING.search(shown):
        return Unfit("it contains an HTML comment, which hides text")
    for pattern, reason in _HARD:
        if pattern.search(line):
            return Unfit(reason)
    # Without leading marks and code fences, and without backticks that are not balanced.
    line = re.sub(r"~{3,}", "", tidy_fact(line))
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "")
    line = quote_imports(re.sub(r"^(?:(?:[-*+>#|=]+|\d+[.)])\s+)+", "", line.strip()).strip())
    # A formatter of Markdown leaves `__init__`, `*.py` and `**kwargs` as they are in backticks.
    parts = re.split(r"(`[^`]*`)", line)
    line = "".join(one if at % 2 else _NAME.sub(r"`\g<0>`", one) for at, one in enumerate(parts))
    if len(line) > FACT_LIMIT:
        return Unfit(f"it is longer than {FACT_LIMIT} characters")
    if not any(char.isalnum() for char in line):
        return Unfit("nothing is left of it")
    return line


_ADDRESS = compile_lazily(
    r"\b[a-z][a-z0-9+.-]*://|\bwww\.|\b\d{1,3}(?:\.\d{1,3}){3}\b|[\w.+-]+@[\w-]+\.\w|\bdata:\w+/"
    r"|(?<![\w./-])(?:[\w-]+\.)+(?:com|org|net|io|dev|app|ru|cn|xyz|info|ai|co|example|site|cloud|page)\b",
    re.IGNORECASE,
)
_TAG = compile_lazily(r"</?[a-z!|][^<>]*>|<!--|\[/?(?:INST|SYS)\b|(?<!\S)@(?:[.~/]|\w+[/.])", re.IGNORECASE)
_COMMAND = compile_lazily(
    r"&&|\|\||\$\(|\|\s*`?[a-z]|>\s*[~/]|;\s*(?:rm|curl|wget|sh|bash)\b"
    r"|(?<![\w-])(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|netcat|socat|telnet|eval|sudo|doas|chmod|chown|crontab|nohup|npx|bunx|uvx|pipx"
    r"|iwr|irm|iex|invoke-\w+|powershell|osascript|certutil|bitsadmin|schtasks)\s+[\w\"'$@.~/-]"
    r"|(?<![\w-])(?:(?:ba|z|da|fi|k)?sh|python[\d.]*|node|perl|ruby|php|deno)\s+(?!\d)(?:-\w+\b|\S*[/.]\w)"
    r"|\b(?:run|execut\w*|exec|start|launch|invoke|call|source)\b(?!-)\W+(?:\w+\W+){0,2}?(?:[.~]{0,2}/\S|\w[\w-]*\.(?:sh|py|js|ts|rb|pl|ps1|bat)\b)"
    r"|\b(?:run (?:\w+ )?|exec\w* (?:\w+ ){0,2})(?:[\w.-]+/[\w.-]|(?:pre|post)-?install\b)"
    r"|(?<![\w-])(?:npm|pnpm|yarn|bun|pip3?|uv|cargo|gem|brew|apt(?:-get)?|go|conda)\s+(?:pip\s+)?(?:install|i|add|dlx|exec|x|get|publish|config)\s+(?!fail|is\b|was\b|hangs?\b|breaks?\b)\S"
    r"|(?<![\w-])(?:docker|podman|kubectl|helm|terraform|systemctl|launchctl|aws|gcloud|gh|npm|twine)\s+(?:\w+\s+)?(?:run|exec|apply|delete|destroy|rm|prune|push|publish|upload|enable|load|login|auth|secret)\b"
    r"|\binstall (?:\w+ )?(?:package|module|plugin|extension|tool|dependenc)|\bpip(?:e|ing) .{0,60}\b(?:ba|z)?sh\b|\b(?:upload|send|forward|mirror|leak) .{0,60}\bto\b"
    r"|(?<![\w-])git\s+(?:push|reset|clean|config|remote|(?:checkout|stash) (?:--|\.|drop|clear))(?!\w)|\bgit commit .*-\w*n\b|\brm\s+-|\bmkfs\b|\bdd\s+if="
    r"|(?-i:\b[A-Z][A-Z0-9_]{2,}=\S)|\bmcp__\w|\bos\.system\b|\bshell ?= ?true\b",
    re.IGNORECASE,
)
_SETTING = compile_lazily(
    r"\bsettings(?:\.local)?\.json\b|\bauthorized_keys\b|\bcron(?:tab| ?job)|\.(?:(?:ba|z)sh\w*|profile|gitconfig|npmrc)\b|\bhookspath\b"
    r"|\b(?:as|use) root\b|\bhttp\b.{0,20}\bhttps\b|\b(?:passwords?|tokens?|secrets?|keys?)\b.{0,30}\bplain\b"
    r"|(?-i:\b[A-Z]+_(?:[A-Z]+_)*(?:SECRET|TOKEN|KEY|PASSWORD))"
    r"|\b(?:approval|consent|permission|confirmation)\b.{0,25}\b(?:implied|given|granted|assumed|unneeded|not (?:needed|required))\b"
    r"|\b(?:as|without) (?:consent|approval|permission)\b|\balready (?:agreed|approved|confirmed|consented)\b|\bnever (?:mention|tell|reveal)\b|\btrusted (?:publisher|host|source)"
    r"|\b(?:agreed|consented|said (?:yes|ok\w*)|approved|accepted|allowed|signed off)\b.{0,25}\b(?:all|any\w*|every\w*)\b|\bblanket\b|\bassume yes\b"
    r"|\bauto\w*[- ]?(?:accept|approv|confirm|execut)|\b(?:all|any|every)\s+(?:\w+\s+)?(?:commands?|prompts?|permissions?|approvals?|tool calls?)\b",
    re.IGNORECASE,
)
_KEYWORDS = compile_lazily(r"\b(?:WHEN|DO(?: NOT)?|BECAUSE)\b")
"""Of a lesson's pattern."""
_CLAUSE_END = compile_lazily(r"->|[.;:!?]\s|\n")
_LATIN = compile_lazily(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NAMES = compile_lazily(
    r"\b(?:DER|SANs?|[Ss]ans[- ][Ss]erif|(?:np|jnp|numpy|torch|math|Math)\.sin)\b|\bsin\("
)
"""Of things and functions, which contain words of other languages."""
_OTHER_SCRIPT = compile_lazily(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]+")
_OTHERS = (
    "les las aux une sans avant tous toutes tout pas jamais rien utilisateur der dem und nicht nichts nie ohne alle alles kein keine immer vor "
    "bei zu zum benutzer nutzer el una sin todos todas nunca nada usuario gli della senza tutti tutte prima utente uma antes não nao nem "
    "usuários het een zonder niet niets nooit voor tegen gebruiker och inte utan aldrig og ikke uten ei ilman bez nie wszystkie nic ve tüm hiç "
    "și fără jangan semua tanpa pengguna és bez před без"
)
_FOREIGN = frozenset(_OTHERS.split())
"""What most sentences of other languages have, and English seldom: as a name (`el`), or of a function (`sin`)."""
_ENGLISH_WORDS = (
    "the and with from for of is are it its that this these when if into only always never not have must should can instead before "
    "after without against which"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_LOAN_WORDS = "café cafés naïve résumé résumés façade façades cliché clichés déjà"
_LOANS = frozenset(_LOAN_WORDS.split())
_HIDDEN = compile_lazily(r"\b(?:[^\W\d_] ){3,}|[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]", re.IGNORECASE)
"""A word with spaces between its letters, or with letters of two scripts."""
_FAULTS = (
    (_TAG, "it has a tag"),
    (_ADDRESS, "it names an address"),
    (_COMMAND, "it runs a command"),
    (_HIDDEN, "it hides a word"),
    (_SETTING, "it is about access or consent"),
)
LONGEST = 400
"""Characters."""


def find_agent_fault(text: str) -> str:
    """Why a text that an agent stores must wait for the person, as a clause; "" if it need not."""
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if SECRET in text or has_secret(text):
        return "it has what looks like a secret"
    cleaned = clean_fact(text)
    if isinstance(cleaned, Unfit):
        return cleaned.reason
    for pattern, fault in _FAULTS:
        if pattern.search(text):
            return fault
    if _is_foreign(_KEYWORDS.sub(" ", text)):
        return "its language is not one in which an order is recognised"
    found = judge_text(text)
    return found.reason if found is not None else ""


def _is_foreign(text: str) -> bool:
    """Whether a text of more than a name is in another language than English, in which nothing tells an order from a description."""
    others = _OTHER_SCRIPT.findall(text)
    if len(others) > 1 or any(CJK.search(one) and len(one) > 3 for one in others):
        return True
    return len(_LATIN.findall(text)) >= 3 and any(map(_is_foreign_clause, _CLAUSE_END.split(text)))


def _is_foreign_clause(text: str) -> bool:
    """Whether two different words say so; one, or two with accents, if it has no English words."""
    found = _LATIN.findall(_NAMES.sub(" ", text))
    words = {word.casefold() for word in found}
    hits, without_names = len(words & _FOREIGN), {word for word in found if word.islower()}
    accented = len({word for word in without_names if not word.isascii()} - _LOANS)
    if words & _ENGLISH:
        return hits > 1 or 2 * accented > len(words)
    return hits > 0 or accented > 1
