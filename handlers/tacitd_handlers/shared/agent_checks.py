"""What an agent may store without asking the person (SPEC S-67). Pure.

A text that an agent stores is loaded into every session, and nobody typed it. So it passes the checks of a model's draft: what is
dangerous as an order, runs a command, names an address, contains a secret or a tag waits for the person. Descriptions of files,
tools and behaviour pass.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import SECRET, has_secret
from tacitd_handlers.shared.dangerous_kinds import find_dangers
from tacitd_handlers.shared.line_cleaning import Unfit, clean_fact

_ADDRESS = compile_lazily(
    r"\b[a-z][a-z0-9+.-]*://|\bwww\.|\b\d{1,3}(?:\.\d{1,3}){3}\b|[\w.+-]+@[\w-]+\.\w", re.IGNORECASE
)
_TAG = compile_lazily(r"</?[a-z!|][^<>]*>|<!--|\[/?(?:INST|SYS)\b", re.IGNORECASE)
_COMMAND = compile_lazily(
    r"&&|\|\||\$\(|\|\s*`?[a-z]|>\s*[~/]|;\s*(?:rm|curl|wget|sh|bash)\b"
    r"|(?<![\w-])(?:curl|wget|ssh|scp|sftp|rsync|ncat?|netcat|telnet|eval|sudo|doas|chmod|chown|crontab|nohup|npx|bunx|uvx|pipx"
    r"|iwr|irm|iex|invoke-\w+|powershell|osascript|launchctl)\s+[\w\"'$@.~/-]"
    r"|(?<![\w-])(?:(?:ba|z|da|fi|k)?sh|python[\d.]*|node|perl|ruby|php|deno)\s+(?!\d)(?:-\w+\b|\S*[/.]\w)"
    r"|\b(?:run|execut\w*|start|launch|invoke|call|source)\b(?!-)\W+(?:\w+\W+){0,2}?(?:[.~]{0,2}/\S|\w[\w-]*\.(?:sh|py|js|ts|rb|pl|ps1|bat)\b)"
    r"|(?<![\w-])(?:npm|pnpm|yarn|bun|pip3?|uv|cargo|gem|brew|apt(?:-get)?|go|conda)\s+(?:pip\s+)?(?:install|i|add|dlx|exec|x|get)\s+(?!fail|is\b|was\b|hangs?\b|breaks?\b)\S"
    r"|(?<![\w-])git\s+(?:push|reset|clean|config|remote)\b|\brm\s+-|\bmkfs\b|\bdd\s+if=",
    re.IGNORECASE,
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
    if _TAG.search(text):
        return "it has a tag"
    if _ADDRESS.search(text):
        return "it names an address"
    if _COMMAND.search(text):
        return "it runs a command"
    dangers = find_dangers(text)
    return f"it is about {dangers[0].kind}" if dangers else ""
