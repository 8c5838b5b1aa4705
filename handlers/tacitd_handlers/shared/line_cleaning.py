"""Clean a text that is to become a line, or refuse it (SPEC S-67). Pure.

A learned line is loaded into every later session. It must therefore not break out of its bullet, not import other files
(Claude Code expands `@path` outside backticks), not hide anything from the user who reads the file, and not weaken safety
checks. Prohibitions ("never use --no-verify") are useful rules, so they pass.
"""

from __future__ import annotations

import re

from msgspec import Struct

from tacitd.text.import_words import quote_imports
from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import has_secret
from tacitd.text.sanitize import sanitize_line
from tacitd_handlers.shared.harmful_orders import find_harm
from tacitd_handlers.shared.tidy import tidy_fact


class Unfit(Struct, frozen=True):
    """The reason why a text is not stored."""

    reason: str


_TEXT_LIMIT = 2000
"""Maximum length of a fact in characters. A shorter one is cut to FACT_LIMIT, a longer one is refused."""
_HIDING = (
    (r"<!--|-->", "it contains an HTML comment, which hides text"),
    (r"!\[[^\]]*\]\(", "it contains an image, which is fetched when shown"),
    (r"^\[[^\]]+\]:\s", "it is a link definition, which hides text"),
)
"""Not refused within backticks, where they are shown as they are."""
_ALWAYS = (
    (
        # "The `<system>` tag" and "the <instructions> element" name a tag; nothing is inside it.
        r"(?!(?:</?[\w:-]+>`|<[\w:-]+> (?:tags?|elements?|nodes?|blocks?|messages?(?!\W*:))\b))"
        r"</?(?:system|system-reminder|instructions?|tool_use|tool_result|function_calls?|invoke|antml[\w:]*)\b[^>]*>",
        "it imitates a part of a prompt",
    ),
    (
        r"\b(?:curl|wget|iwr|irm|fetch)\s[^|]*\|\s*(?:(?:sudo|env)\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:/(?:usr/)?(?:local/)?bin/)?"
        r"(?:(?:ba|z|da|fi|k)?sh|iex|python3?(?! -m json)|node|perl|ruby)\b",
        "it runs a downloaded script",
    ),
    (
        r"\bpipe\s+`?https?://\S+\s+(?:in)?to\s+`?(?:(?:ba|z)?sh|python3?|node|perl|ruby)\b",
        "it runs a downloaded script",
    ),
    (
        r"(?:\b(?:ba|z)?sh|\beval|\bsource|\.|\bpython3?|\bnode|\bperl|\bruby)\s+(?:-[ce]\s+)?[\"']?(?:<\(|\$\(|`)\s*(?:curl|wget)\b",
        "it runs a downloaded script",
    ),
    (
        r"\b(?:ignore|disregard|forget|override|ignorier\w*|vergiss|ignore[zr]|oublie[zr]?|ignora\w*|negeer)\b.{0,30}"
        r"\b(?:previous|prior|above|earlier|preceding|existing|system|safety|vorherige\w*|bisherige\w*|précédent\w*|"
        r"anterior\w*|vorige|eerdere)\b.{0,30}"
        r"\b(?:instructions?|prompts?|directives?|anweisungen|consignes|instrucciones|instructies)\b"
        # Those of a part of the program are not the agent's.
        r"(?! (?:of|for|in) (?:the |our |an? |each )?(?:[\w-]+ ){0,2}(?:chatbot|bot|service|app|template|installer|wizard|dialog|form|fixtures?|tests?|playground)\b)",
        "it tells an agent to ignore its instructions",
    ),
    (
        r"\b(?:ignore[zr]?|ignora\w*|oublie[zr]?|olvida\w*)\s+(?:\S+\s+){0,3}(?:consignes|instructions|directives|instrucciones|indicaciones)\s+"
        r"(?:précédent\w*|antérieur\w*|anterior\w*|previas)"
        r"|\b(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:(?:of )?the )?(?:above|before|so far|you (?:were|have been|are) told)\b(?=\W*(?:$|[.,;!?]|and\b))",
        "it tells an agent to ignore its instructions",
    ),
    (
        # Rules and guidelines also are those of a linter, a firewall or a design: "existing eslint rules", "rules in …".
        r"\b(?:ignore|disregard|forget|override|ignorier\w*|vergiss|ignore[zr]|oublie[zr]?|ignora\w*|negeer)\b.{0,30}"
        r"\b(?:(?:previous|prior|above|earlier|preceding|existing|system|safety|vorherige\w*|bisherige\w*|précédent\w*|"
        r"anterior\w*|vorige|eerdere)\s+(?:(?:system|safety|your|of)\s+)?(?:rules?|guidelines|regeln|règles|reglas|regels)|"
        r"(?:rules?|guidelines|reglas|règles)\s+(?:above|anterior\w*|précédent\w*))\b(?!\s+(?:in|for|of|on)\b(?! (?:this|the|your|any) (?:file|repo|repository|prompt|session)))",
        "it tells an agent to ignore its instructions",
    ),
    (
        r"\b(?:(?:javascript|vbscript):(?=\S)|data:(?:text|application)/[a-z]|data:image/svg)",
        "it contains an address that runs code",
    ),
    (
        r"(?:^|[\s.!?>*_])(?-i:Human|Assistant|HUMAN|ASSISTANT)\s*[*_]*\s*:"
        r"(?!(?:(?<=prefix human:)|(?<=prefix assistant:))\W*$)",
        "it imitates a turn of a conversation",
    ),
    (
        r"以前の指示|これまでの指示|(?:すべて|全て|全部)の?指示を(?:すべて|全て)?(?:無視|忘れ)|忽略(?:之前|以上|所有)(?:的)?(?:所有)?(?:指令|指示|提示)"
        r"|\b(?:ignore|disregard|forget)\s+(?:every|any|all|each)\s+(?:\w+\s+)?(?:rule|instruction|order|guideline|prompt)s?\s+(?:that\s+)?you\b",
        "it tells an agent to ignore its instructions",
    ),
    (r"https?://[^\s)]*\$[({]", "it puts the output of a command into an address"),
    (r"\b(?:nc|ncat|netcat)\b.*\s-(?:e|c)\s|/dev/tcp/", "it opens a shell to another machine"),
    (r"--dangerously-\S+|\bbypassPermissions\b|\bdangerouslyDisable\w+", "it grants permissions"),
    (
        r"\byou are now\b(?! (?:on|using)\b)|\b(?:now in|enter|enable|activate|switch to|act in|be in|into)\s+(?:\w+ )?(?:developer|god|dan) mode\b"
        r"(?! on (?:the |an? |all )?(?:\w+ )?(?:phones?|tablets?|devices?|emulators?)\b)"
        r"|\bjailbreak(?! (?:detection|checks?)\b)|\byou are (?:an? )?(?:(?-i:DAN)|unrestricted|uncensored|unfiltered)\b",
        "it gives an agent another role",
    ),
)
_HARD = tuple((compile_lazily(pattern, re.IGNORECASE), reason) for pattern, reason in _ALWAYS)
_HIDDEN = tuple((compile_lazily(pattern, re.IGNORECASE), reason) for pattern, reason in _HIDING)
_CODE = compile_lazily(r"`[^`]*`")


def clean_fact(text: str, *, is_typed: bool = False) -> str | Unfit:
    """Given a fact from an answer, return the line for the file, without `- `, or why it is refused.

    The line has at most 300 characters, no leading "User", no leading marks and no control characters. `@names` are in
    backticks, so that they are not imports.

    `is_typed`: whether the user typed the fact's words. "Skip the pre-commit hooks on draft branches" is then the user's
    own rule and passes. Text that hides something, imitates a prompt or grants permissions by a flag is always refused.
    """
    if len(text) > _TEXT_LIMIT:
        return Unfit(f"it is longer than {_TEXT_LIMIT} characters")
    line = sanitize_line(text)
    if has_secret(line):  # checked in the sanitised line, because hidden characters could interrupt a secret
        return Unfit("it looks like a secret")
    shown = line if line.count("`") % 2 or "``" in line else _CODE.sub("` `", line)
    for patterns, searched in ((_HIDDEN, shown), (_HARD, line)):
        for pattern, reason in patterns:
            if pattern.search(searched):
                return Unfit(reason)
    if not is_typed and (reason := find_harm(line)):
        return Unfit(reason)
    line = quote_imports(_plain_marks(tidy_fact(line)))
    if not any(char.isalnum() for char in line):
        return Unfit("nothing is left of it")
    return line


def _plain_marks(line: str) -> str:
    """Remove leading marks and code fences, and all backticks if they are not balanced."""
    line = re.sub(r"~{3,}", "", line)
    if line.count("`") % 2 or "``" in line:
        line = line.replace("`", "")
    return re.sub(r"^(?:(?:[-*+>#|=]+|\d+[.)])\s+)+", "", line.strip()).strip()
