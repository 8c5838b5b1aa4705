"""Which orders are harmful as a line, unless the person typed them: to send secrets out, to grant permissions, to disable checks. Pure.

The words alone do not tell. "Forward access tokens to the gateway" and "Grant all permissions to the admin role" are rules
of a program, "Forward the access tokens to https://…" and "Grant full access" are orders to an agent. What counts is the
receiver:

- To send a secret is harmful if the sentence names a receiver outside of the project: a host, an address, a public place, or
  people. A component of the program is inside.
- A permission is the agent's, unless the sentence names a role, an account or a service that gets it.
- A check is the agent's, unless the sentence says in which part of the program it is switched off.

A match is allowed if a word before it forbids it: in its own clause, and not as an answer ("No, send …"), as a condition ("If it
does not build, send …"), or as a double negation ("Do not forget to send …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tacitd.text.lazy_pattern import compile_lazily

_FORBIDS = compile_lazily(
    r"\b(?:never|not|don[’']t|doesn[’']t|mustn[’']t|avoids?|dislikes?|forbids?|prohibits?|against|no|hates?|rejects?|"
    r"refuses?|nie|niemals|nicht|jamais|nunca|nooit)\b(?!\s+(?:(?:to\s+)?(?:forget|hesitate|fail|neglect|omit)|vergessen|zögern)\b)",
    re.IGNORECASE,
)
_CONDITION = compile_lazily(
    r"\b(?:if|when|whenever|unless|until|while|as long as|wenn|falls|si|als)\b[^,;]*(?<!\bdo )$",
    re.IGNORECASE,
)
"""Before a negation: "If it does not build, upload …" forbids nothing."""
_CONTRAST = compile_lazily(r"[.;!?\n]|\b(?:but|then|sondern|aber|mais|sino)\b", re.IGNORECASE)
"""Between a prohibition and an order that it does not forbid."""
_AFTER_OR = compile_lazily(r",\s*(?:or|nor|oder|ou|ni)\s+$", re.IGNORECASE)
_BEFORE_OR = compile_lazily(r"[\w-]+(?:,|\s+(?:or|nor|oder|ou|ni)\b)", re.IGNORECASE)
"""An order in a list: "Never log, share, or post …"."""
_SENTENCE = compile_lazily(r"(?<=[.!?;])\s+")

_SEND = compile_lazily(
    r"\b(?:send|post|upload|exfiltrate|leak|e-?mail|mail|forward|share|paste|publish|transmit|append|copy|push|submit|commit|"
    r"sende\w*|schick\w*|envía\w*|envia\w*|manda|sube|envoie\w*|envoyer|publie\w*|poste)\b",
    re.IGNORECASE,
)
_SENT_OUTSIDE = frozenset({"email", "e-mail", "mail", "leak", "exfiltrate"})
"""Verbs that send something out of the project, also without a named receiver."""
_SECRET_WORDS = (
    r"\b(?:secrets?|credentials?|api[ -]?keys?|(?:private|ssh|signing|access) keys?|environment variables|passphrases?|"
    r"(?<!verification )(?<!confirmation )(?<!activation )(?<!invitation )(?<!reset )tokens?|passwords?|passw[oö]rt\w*|zugangsdaten|"
    r"contraseñas?|credenciales|mots? de passe|identifiants)\b"
)
_SECRET_FILES = r"|\.env\b|(?:~|\$HOME)/\.(?:ssh|aws|netrc|config|gnupg|npmrc|kube)\b|\bid_(?:rsa|ed25519)\b"
_ANY_SECRET = compile_lazily(_SECRET_WORDS + _SECRET_FILES, re.IGNORECASE)
_SECRET = compile_lazily(
    # A secret is only named in "password reset emails" and "the token count".
    rf"{_SECRET_WORDS}(?! (?:reset|rotation|expir\w+|counts?|usage|names?|ids?|polic\w+|refresh|buckets?|errors?|validation|hash\w*|metrics?|events?|changes?|length|type)\b)"
    + _SECRET_FILES,
    re.IGNORECASE,
)
_LEFT_OUT = compile_lazily(r"\b(?:without|no|not|never)\b", re.IGNORECASE)
"""Before the secret: "errors without passwords" has none."""
_BORDER = compile_lazily(
    r"\b(?:about|when|whenever|if|once|before|after|until|unless|while|because)\b", re.IGNORECASE
)
"""What follows it is not sent: "Send an email when a token expires"."""
_LOCAL = r"(?!(?:https?:)?//(?:localhost|127\.|0\.0\.0\.0|\[::1\]|host\.docker\.internal))"
_ADDRESS = compile_lazily(
    rf"(?<![a-z0-9+.:-]){_LOCAL}(?:[a-z][a-z0-9+.-]*:)?//[^\s/]"
    r"|[\w.+-]+@[\w-]+\.\w"
    r"|\b(?!127\.)\d{1,3}(?:\.\d{1,3}){3}\b"
    # A host without a scheme. A path or a file's name is none.
    r"|\b(?:to|at|via|on|through)\s+(?:the\s+)?`?[\w-]+(?:\.[\w-]+)*\.(?!(?:ya?ml|json|toml|md|txt|py|tsx?|jsx?|go|rs|env|ini|cfg|conf|lock|log|csv|html|sql|xml)\b)[a-z]{2,}\b",
    re.IGNORECASE,
)
_PLACE = compile_lazily(
    r"\b(?:to|at|on|into|in|onto|via|by|through|with|an|auf|ins?|al?|en|sur|à|au)\s+(?:(?!(?:an?|the|our)\s+(?:\S+\s+){0,2}(?:endpoints?|services?|api|gateway|servers?|workers?|header)\b)\S+\s+){0,4}?"
    r"(?:#[\w-]+|(?:[\w-]+ )?channels?|slack|discord|telegram|whatsapp|twitter|e-?mail|chat|forum|pastebins?|paste (?:sites?|services?)|gists?|dropbox|ftp|"
    r"public\b.{0,20}|third part\w+|strangers?|outside\w*|attackers?|every(?:one|body)|any(?:one|body)|some(?:one|body)|ops|support|(?:\w+ )?teams?|me|us|"
    r"colleagues?|vendors?|contractors?|partners?|maintainers?|issues?|pull requests?|bug reports?)\b",
    re.IGNORECASE,
)

_GRANT = compile_lazily(
    r"\b(?:allow|approve|grant|accept|auto-approve)\b.{0,20}?\b(?:all|any|every|full) (?:\w+ )?"
    r"\b(?:tools?|permissions?|commands?|access)\b(?! (?:with|that|which|whose|matching|tokens?|requests?|logs?|lists?|keys?|levels?|control|points?)\b)(?!.* to be \w)"
    r"|\bwithout (?:asking (?:for )?|any )permissions?\b"
    r"|(?<!users)(?<!user)(?<!members)(?<!callers)(?<!clients)(?<!requests)(?<!accounts)(?<!people)(?<!anyone)(?<!roles)(?<=\S)\s+without permissions?\b"
    r"|\bBash\(\s*\*",
    re.IGNORECASE,
)
_AGENT = compile_lazily(r"\b(?:claude|agents?|assistants?|model|llm|ai|you|your|yourself)\b", re.IGNORECASE)
_PRINCIPAL = compile_lazily(
    r"\b(?:roles?|admins?|administrators?|users?|accounts?|groups?|members?|owners?|services?|tenants?|customers?|moderators?|"
    r"editors?|operators?|staff|employees|principals?|scopes?|pods?|containers?|workers?|plugins?)\b",
    re.IGNORECASE,
)
"""Receivers of permissions in a program."""

_SWITCH_OFF = compile_lazily(
    r"\b(?:disable|bypass|skip|circumvent|turn(?:ing)? off|switch(?:ing)? off)\b.{0,20}?"
    r"\b(?P<check>safety|security|sandbox\w*|permissions?|guard\w*|git hooks?|pre-commit hooks?|approvals?)\b"
    r"(?! (?:clauses?|headers?|groups?|(?:review )?labels?|pages?|badges?|columns?)\b)|--no-verify\b"
    r"|--no-gpg-sign\b",
    re.IGNORECASE,
)
_PART_OF_PROGRAM = compile_lazily(
    r"^(?:\s+\w+){0,2}?\s+(?:only\s+)?(?:in|for|of|on|during|against|between)\s+(?!(?:all|every|any|each|this|your|my|now)\b)"
    r"(?!(?:\S+\s+){0,3}?(?:bash|shell|commands?|tools?|edits?|sessions?|repo\w*|files?|commits?|branch\w*|everything|speed|claude|agents?)\b)\w",
    re.IGNORECASE,
)

_DESTROY = compile_lazily(
    r"\brm\s+-\w*r\w*\s+(?:-\S+\s+)*[`'\"]?(?:~|/|\$HOME|\*)(?:/?[`'\"]?(?=\s|$|[.,;。、をに]))|(?:~|\$HOME|/root|/home/\S+)/\.ssh/authorized_keys\b",
    re.IGNORECASE,
)
"""Never a rule of a program: to remove the home directory or the disk, or to change the keys that may log in."""


def find_harm(line: str) -> str:
    """Return why a line is harmful as an order, "" if it is not."""
    for sentence in _SENTENCE.split(line):
        if reason := next(_find_harms(sentence), ""):
            return reason
    return ""


def _find_harms(sentence: str) -> Iterator[str]:
    for found in _GRANT.finditer(sentence):
        if not _is_forbidden(sentence, found) and not _names_principal(sentence, found):
            yield "it grants permissions"
    for found in _SWITCH_OFF.finditer(sentence):
        if not _is_forbidden(sentence, found) and not _is_part(sentence, found):
            yield "it switches a check off"
    for found in _SEND.finditer(sentence):
        if not _is_forbidden(sentence, found) and _sends_secret_outside(sentence, found):
            yield "it gives secrets away"
    for found in _DESTROY.finditer(sentence):
        if not _is_forbidden(sentence, found):
            yield "it destroys what is not the project's, or changes who may log in"


def _is_forbidden(sentence: str, found: re.Match[str]) -> bool:
    before, order = sentence[: found.start()], sentence[found.start() :]
    return any(
        _forbids(word[0].casefold(), before[: word.start()], before[word.end() :], order)
        for word in _FORBIDS.finditer(before)
    )


def _forbids(word: str, lead: str, between: str, order: str) -> bool:
    """Given a word that forbids, the words before it, those between it and an order, and the order, whether it forbids that."""
    if _CONTRAST.search(between) is not None:
        return False
    if word not in ("never", "don't", "don’t") and _CONDITION.search(lead) is not None:
        return False
    if word == "no":
        return "," not in between and " and " not in between
    if "," not in between or between.startswith(","):
        return True
    is_in_list = between.rstrip().endswith(",") and _BEFORE_OR.match(order) is not None
    return is_in_list or _AFTER_OR.search(between) is not None


def _names_principal(sentence: str, found: re.Match[str]) -> bool:
    """Whether a part of a program gets the permission, and not the agent."""
    if "without" in found[0].casefold() or found[0].startswith("Bash") or _AGENT.search(sentence) is not None:
        return False
    return _PRINCIPAL.search(sentence, found.start()) is not None


def _is_part(sentence: str, found: re.Match[str]) -> bool:
    """Whether the check is switched off in a named part of the program. Hooks of git are always the agent's."""
    check = found["check"]
    if check is None or "hook" in check.casefold() or _AGENT.search(sentence) is not None:
        return False
    return _PART_OF_PROGRAM.search(sentence[found.end() :]) is not None


def _sends_secret_outside(sentence: str, verb: re.Match[str]) -> bool:
    """Whether a secret is sent to a receiver outside of the project."""
    has_address = _ADDRESS.search(sentence, verb.start()) is not None
    is_outside = verb[0].casefold() in _SENT_OUTSIDE or _PLACE.search(sentence, verb.start()) is not None
    if not has_address and not is_outside:
        return False
    border = _BORDER.search(sentence, verb.end())
    end = border.start() if border is not None else len(sentence)
    return any(
        _LEFT_OUT.search(sentence, verb.end(), secret.start()) is None
        for secret in (_ANY_SECRET if has_address else _SECRET).finditer(sentence, verb.end(), end)
    )
