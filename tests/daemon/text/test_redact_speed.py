"""Redaction takes the same time for each character of any text."""

from __future__ import annotations

import time

import pytest

from tacitd.text.redact import redact_secrets

HOSTILE = [
    "curl -u ",
    "curl -u a ",
    "mysql -p ",
    "docker login -p ",
    "smbclient -U a",
    "password for me ",
    "authorization: ",
    "abandon ",
    "abandon, 1. ",
    "key    ",
    "-a-a-",
    "a.",
    "a:22:",
    "*:*:a:b:",
    "pwd=/",
    "password|",
    "password,a\n",
    "|password|\n|---|\n",
    "login a/",
    "a:bcde@",
    "use abcd as ",
    "recovery code a1b2 ",
    "recovery codes a1b2-",
    "seed phrase: abc def ",
    "net use \\\\a ",
    "mysql -pAb1 ",
    "echo a | ",
    "--pass-",
    "sk-a1.",
    "-----BEGIN ",
]


@pytest.mark.parametrize("part", HOSTILE)
def test_repetition_takes_linear_time(part: str) -> None:
    """A text eight times as long may take eight times as long, not sixty-four times (S-67)."""

    def measure(size: int) -> float:
        text = part * (size // len(part))
        best = float("inf")
        for _ in range(2):
            start = time.thread_time()
            redact_secrets(text)
            best = min(best, time.thread_time() - start)
        return best

    redact_secrets("key=AKIA ghp_ sk-ant-aaaaaaaaaaa")  # loads what is loaded only once
    assert measure(40_000) < 24 * measure(5_000) + 0.02


@pytest.mark.parametrize(
    ("command", "secret"),
    [
        ("curl -u a -s -u deploy:Hq7Zt9Lm https://x.io", "Hq7Zt9Lm"),
        ("mysql -p -pHq7Zt9Lm db", "Hq7Zt9Lm"),
        ("redis-cli -h cache -a Hq7Zt9Lm ping", "Hq7Zt9Lm"),
        ("ldapsearch -x -D cn=admin -w Hq7Zt9Lm", "Hq7Zt9Lm"),
        ("see\ndb.example:5432:orders:alice:Hq7Zt9Lm\n", "Hq7Zt9Lm"),
        ("smbclient //srv/share -U alice%Hq7Zt9Lm", "Hq7Zt9Lm"),
    ],
)
def test_the_value_of_an_option_goes_where_its_program_comes_first(command: str, secret: str) -> None:
    """The program may be some words before the option, and the same option may occur twice."""
    assert secret not in redact_secrets(command)[0]


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p Hq7Zt9Lm",
        "ssh -p 2222 alice; mysql db",
        "sort -u first:second then curl it",
        "at 10:22:33:a:b:Hq7Zt9Lm it began",
    ],
)
def test_another_program_keeps_its_option(text: str) -> None:
    """`-p` means a password only for the programs that use it so, in the same command."""
    assert redact_secrets(text) == (text, 0)
