"""What an agent may store without asking the person (SPEC S-67). Pure.

A text that an agent stores is loaded into every session, and nobody typed it. So it passes the checks of a model's draft: what is
dangerous as an order, runs a command, names an address, contains a secret or a tag waits for the person. Descriptions of files,
tools and behaviour pass.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.redact import SECRET, has_secret
from tacitd_handlers.shared.fact_text import Unfit, clean_fact
from tacitd_handlers.shared.words import judge_text

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
    r"|\b(?:as|without) (?:consent|approval|permission)\b|\balready (?:agreed|approved|confirmed|consented)\b|\bnever (?:mention|tell|reveal)\b|\btrusted (?:publisher|host|source)",
    re.IGNORECASE,
)
_HIDDEN = compile_lazily(r"\b(?:[^\W\d_] ){3,}|[a-z][\u0370-\u052f]|[\u0370-\u052f][a-z]", re.IGNORECASE)
"""A word with spaces between its letters, or with letters of two scripts."""
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
    if _HIDDEN.search(text):
        return "it hides a word"
    if _SETTING.search(text):
        return "it is about access or consent"
    found = judge_text(text)
    return found.reason if found is not None else ""
