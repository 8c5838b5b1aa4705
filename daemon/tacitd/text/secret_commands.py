"""Passwords in command lines and in the files of programs that log in: `mysql -psecret`, `curl -u`, `.pgpass`. Pure.

A program that takes a password in an option is one entry of `_OPTIONS`; any other form is one of `_COMMANDS`. Values
after a name or in an address belong in secret_context.py.
"""

from __future__ import annotations

import re

from tacitd.text.lazy_pattern import compile_lazily
from tacitd.text.secret_context import is_mixed, is_no_code, is_placeholder, is_random, value_span

_Q = r"[\"']?"
_OPTIONS: tuple[tuple[tuple[str, ...], re.Pattern[str], re.Pattern[str]], ...] = (
    (
        ("mysql", "mariadb", "7z", "rar"),
        compile_lazily(r"-(?<=\s-)p(?P<mysql>(?!\s)[\"']?[^\s\"']{2,}+)"),
        compile_lazily(r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|7za?|7zr|rar)\b"),
    ),
    (
        ("curl", "http", "wget"),
        compile_lazily(
            rf"-(?<=\s-)(?:u|-user|-proxy-user|U)[ =]?{_Q}[^\s:\"']{{0,100}}+:(?P<curl>[^\s\"']{{2,}}+)"
        ),
        compile_lazily(r"\b(?:curl|https?|wget)\b"),
    ),
    (
        ("login", "mongo"),
        compile_lazily(rf"-(?<=\s-)p[ =]{_Q}(?P<login>(?!-)[^\s\"']+)"),
        compile_lazily(
            r"\b(?:(?:docker|podman|helm|az|oc|cf|ibmcloud|nerdctl)\b[^|]{0,60}?\blogin|mongo|mongosh|mongodump)\b"
        ),
    ),
    (
        ("redis-cli",),
        compile_lazily(rf"-(?<=\s-)(?:a|-pass)\s+{_Q}(?P<redis>[^\s\"']+)"),
        compile_lazily(r"\bredis-cli\b"),
    ),
    (
        ("ldap",),
        compile_lazily(rf"-(?<=\s-)w\s*{_Q}(?P<ldap>[^\s\"']+)"),
        compile_lazily(r"\bldap(?:search|modify|add|delete|passwd|whoami)\b"),
    ),
    (
        ("sqlcmd", "osql", "bcp", "zip"),
        compile_lazily(rf"-(?<=\s-)P\s*{_Q}(?P<upper>[^\s\"']+)"),
        compile_lazily(r"\b(?:sqlcmd|osql|bcp|zip|unzip)\b"),
    ),
    (
        ("plink", "pscp", "psftp", "putty"),
        compile_lazily(rf"-(?<=\s-)pw\s+{_Q}(?P<putty>[^\s\"']+)"),
        compile_lazily(r"\b(?:plink|pscp|psftp|putty)\b"),
    ),
    (
        ("smbclient",),
        compile_lazily(r"-(?<=\s-)U\s*[^\s%]{1,100}+%(?P<smb>\S+)"),
        compile_lazily(r"\bsmbclient\b"),
    ),
)
"""For each option: what a text must contain, the option with its value, and the program that must precede it in the same
command.

The option is searched first, because programs are named far more often than one of these options has such a value.
"""
_REACH = 300
"""How many characters before an option are searched for its program."""
_COMMANDS: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (("sshpass",), compile_lazily(rf"sshpass\s+-p\s*{_Q}(?P<sshpass>[^\s\"']+)")),
    (("htpasswd",), compile_lazily(rf"htpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+{_Q}(?P<htpasswd>[^\s\"']+)")),
    (("pass:",), compile_lazily(r"-(?<=\s-)pass(?:in|out)?\s+pass:(?P<openssl>\S+)")),
    (
        ("sudo",),
        compile_lazily(
            rf"echo(?<=\becho)\s+(?:-n\s+)?{_Q}(?P<sudo>[^\s\"'$|]+){_Q}\s*\|\s*sudo\s+(?:-\w+\s+)*-S"
        ),
    ),
    (
        ("chpasswd",),
        compile_lazily(
            rf"echo(?<=\becho)\s+{_Q}[\w-]+:(?P<chpasswd>[^\s\"'|]+){_Q}\s*\|\s*(?:sudo\s+)?chpasswd"
        ),
    ),
    (
        ("securestring",),
        compile_lazily(r"ConvertTo-SecureString\s+(?:-String\s+)?[\"'](?P<powershell>[^\"'\n]+)"),
    ),
    (("identified",), compile_lazily(r"IDENTIFIED\s+(?:WITH\s+\w+\s+)?BY\s+['\"](?P<sql>[^'\"\n]+)")),
    (("login",), compile_lazily(r"login(?<=\blogin)\s+\S{1,200}\s+password\s+(?P<netrc>\S+)")),
    (
        ("auth", "token"),
        compile_lazily(
            r"\"(?:auth|identitytoken|registrytoken|_auth)\"\s*:\s*\"(?P<docker>[A-Za-z0-9+/=_.-]{8,})\""
        ),
    ),
    (
        ("_auth", "_password"),
        compile_lazily(r"_(?<![A-Za-z]_)(?:auth(?:Token)?|password)\s*=\s*\"?(?P<npmrc>[^\s\"]{6,})"),
    ),
    (
        ("pass", "token", "secret", "key"),
        compile_lazily(
            r"-(?<![\w-]-)-?(?:[\w-]{0,30}-)?(?:password|passwd|pass|passphrase|token|secret|api-?key|access-?key|secret-?key|auth-?token)(?:=|\s+)(?P<option>[\"'][^\"'\n]{1,200}|(?!-)[^\s\"'`,;)]{3,}+)"
        ),
    ),
)
"""What a text must contain (one of these, in small letters), and the pattern."""
_PGPASS = compile_lazily(
    r"^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w*-]{1,100}:[\w.*-]{1,100}:(?P<pgpass>[^\s:]{4,})$", re.MULTILINE
)
_PORT_FIELD = compile_lazily(r":(?:\d{2,5}|\*):")

Spans = list[tuple[int, int]]


def find_in_commands(text: str) -> Spans:
    """The spans of values of such options and lines; they may overlap."""
    small = text.replace("İ", "I").lower()
    spans: Spans = []
    for words, option, program in _OPTIONS:
        if any(word in small for word in words):
            spans += (
                value_span(found)
                for found in option.finditer(text)
                if _is_command(found) and program.search(_command_before(text, found.start()))
            )
    for words, pattern in _COMMANDS:
        if any(word in small for word in words):
            spans += (value_span(found) for found in pattern.finditer(text) if _is_command(found))
    if _PORT_FIELD.search(text):
        spans += (value_span(found) for found in _PGPASS.finditer(text) if _is_command(found))
    return spans


def _command_before(text: str, at: int) -> str:
    """The text before an option in the same command, without trailing white space."""
    before = text[max(0, at - _REACH) : at - 1]
    return before[max(map(before.rfind, "\n|;")) + 1 :]


def _is_command(found: re.Match[str]) -> bool:
    group = found.lastgroup or ""
    value = found[group].strip("\"'")
    if len(value) < 2 or (is_placeholder(value) and not (value[0] in "/~." and is_random(value))):
        return False
    if group == "option":
        return (
            found[group][0] in "\"'"
            or "=" in found[0][: -len(found[group])][-1:]
            or (is_mixed(value) and len(value) >= 6 and is_no_code(value))
        )
    if group == "docker":
        return _is_login(value) or is_random(value)
    if group in ("login", "upper"):
        return not value.isdigit() and len(value) >= 4
    if group == "mysql":
        return not value.isdigit() or len(value) > 5
    return True


def _is_login(value: str) -> bool:
    """Whether this is base64 of `user:password`, as in docker's configuration."""
    from base64 import b64decode  # few texts have such a value

    try:
        return b":" in b64decode(value + "=" * (-len(value) % 4), validate=True)
    except ValueError:
        return False
