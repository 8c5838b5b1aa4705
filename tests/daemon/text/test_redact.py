"""One table of all kinds of secrets, each removed, and plain sentences, none of them changed (S-67)."""

from __future__ import annotations

import random
import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_secret_kinds import KEPT, KINDS
from support_secrets import SENTENCES, fill, make_card, make_login, random_token, sample
from tacitd.text.redact import SECRET, has_secret, redact_secrets
from tacitd.text.secret_names import SHAPES

TIMES = 20


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_goes(name: str) -> None:
    """A token of each issuer, in a sentence and joined to a name; nothing of it is left."""
    rng = random.Random(name)
    for _ in range(TIMES):
        token = sample(re.compile(SHAPES[name]), rng)
        assert redact_secrets(f"use {token} please")[0] == f"use {SECRET} please", name
        assert token not in redact_secrets(f"X_TOKEN={token}\n")[0]


DOTTED = (
    "sk-sp-<l20>.<l20>",
    "sk-sp-<a20>.<a20>",
    "sk_<x48>",
    "ghp_<a36>.<a20>",
    "sk-<a30>.<a20>.<a12>",
    "AIza<a35>.<a30>",
)


@pytest.mark.parametrize("template", DOTTED)
def test_a_token_with_a_dot_goes_whole(template: str) -> None:
    """What follows a dot within a token is a part of it."""
    rng = random.Random(template)
    for _ in range(TIMES):
        token = fill(
            re.sub(r"<l(\d+)>", lambda run: "".join(rng.choices("abcdefghijk", k=int(run[1]))), template), rng
        )
        assert redact_secrets(f"use {token}. Then go on.") == (f"use {SECRET}. Then go on.", 1)
        assert redact_secrets(f'key = "{token}"') == (f'key = "{SECRET}"', 1)


@pytest.mark.parametrize("template", KINDS)
def test_every_kind_goes(template: str) -> None:
    """The value and nothing else is blanked, also without digits, in a table, in a command, in other languages."""
    rng = random.Random(template)
    for _ in range(TIMES if "<" in template else 1):
        text = fill(template.replace("\\n", "\n").replace("\\t", "\t"), rng)
        left = redact_secrets(re.sub("[⟦⟧]", "", text))[0]
        assert left == re.sub("⟦[^⟧]*⟧", SECRET, text)
        assert redact_secrets(left) == (left, 0)


@pytest.mark.parametrize(
    ("prefix", "length"),
    [("4", 16), ("51", 16), ("2221", 16), ("6011", 16), ("3530", 16), ("37", 15), ("36", 14)],
)
def test_cards_go(prefix: str, length: int) -> None:
    """With the right checksum, with and without gaps; with a wrong one it is a number."""
    rng = random.Random(prefix)
    for _ in range(TIMES):
        card = make_card(prefix, length, rng)
        if length == 16:
            for gap in ("", " ", "-"):
                assert (
                    redact_secrets(f"card {gap.join(re.findall('....', card))} 12/27")[0]
                    == f"card {SECRET} 12/27"
                )
        assert redact_secrets(f"card {card}")[0] == f"card {SECRET}"
        wrong = f"{card[:-1]}{(int(card[-1]) + 1) % 10}"
        assert redact_secrets(f"order {wrong} of {card}77")[1] == 0


def test_private_keys_and_logins_go() -> None:
    """Blocks of keys are removed whole, docker's logins by their base64 content."""
    rng = random.Random(3)
    for kind in ("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "):
        block = (
            f"-----BEGIN {kind}"
            + "PRIVATE KEY-----\n"
            + fill("<b64>\n<b64>\n", rng)
            + f"-----END {kind}"
            + "PRIVATE KEY-----"
        )
        assert redact_secrets(f"a\n{block}\nz")[0] == f"a\n{SECRET}\nz"
        assert redact_secrets(f"a\n{block[:-30]}")[0] == f"a\n{SECRET}"
        escaped = block.replace("\n", "\\n")
        assert redact_secrets(f'{{"private_key": "{escaped}"}}')[0].count(SECRET) == 1
    pgp = (
        "-----BEGIN PGP "
        + "PRIVATE KEY BLOCK-----\n"
        + fill("<b64>\n", rng)
        + "-----END PGP "
        + "PRIVATE KEY BLOCK-----"
    )
    assert redact_secrets(pgp) == (SECRET, 1)
    login = make_login(rng)
    assert login not in redact_secrets(f'{{"auths": {{"registry.io": {{"auth": "{login}"}}}}}}')[0]


def test_a_secret_longer_than_a_page_goes_whole() -> None:
    """No end of a long value is left."""
    token = random_token(random.Random(5), "a", 3000)
    assert redact_secrets(f"token={token} end") == (f"token={SECRET} end", 1)
    assert redact_secrets(f'"password": "{token[:290]}"')[0] == f'"password": "{SECRET}"'


@pytest.mark.parametrize("sentence", [*SENTENCES, *KEPT])
def test_plain_sentences_stay(sentence: str) -> None:
    """Sentences about passwords, tokens, keys, hashes and numbers are not secrets."""
    sentence = sentence.replace("\\|", "|").replace("\\n", "\n")
    assert redact_secrets(sentence) == (sentence, 0)


# --- any text -------------------------------------------------------------------------------------------------

PARTS = ["password=", "token: ", SECRET, "://a:", "@", "is ", " ", "\n", '"', "a1", "-----BEGIN RSA PRIVATE KEY-----", "Bearer ", "sha512-"]  # fmt: skip
TOKENS = [
    sample(re.compile(SHAPES[name]), random.Random(name))
    for name in ("github", "openai", "aws", "slack", "stripe")
]


@examples(150)
@given(
    st.lists(st.sampled_from([*PARTS, *TOKENS]) | st.text(string.printable, max_size=8), max_size=8).map(
        "".join
    )
)
def test_twice_is_once(text: str) -> None:
    """Words are redacted before the model and again before the write; the second time changes nothing."""
    once, count = redact_secrets(text)
    assert redact_secrets(once) == (once, 0)
    assert (count > 0) == (once != text) == has_secret(text)


def test_most_random_tokens_go() -> None:
    """A 40-character base62 token is recognised nearly always."""
    rng = random.Random(7)
    tokens = ["".join(rng.choices(string.ascii_letters + string.digits, k=40)) for _ in range(500)]
    assert sum(map(has_secret, tokens)) >= 480


HOSTILE = [
    "curl -u ", "curl -u a ", "mysql -p ", "docker login -p ", "smbclient -U a", "password for me ", "authorization: ",
    "abandon ", "abandon, 1. ", "key    ", "-a-a-", "a.", "a:22:", "*:*:a:b:", "pwd=/", "password|", "password,a\n",
    "|password|\n|---|\n", "login a/", "a:bcde@", "use abcd as ", "recovery code a1b2 ", "recovery codes a1b2-",
    "seed phrase: abc def ", "net use \\\\a ", "mysql -pAb1 ", "echo a | ", "--pass-", "sk-a1.", "-----BEGIN ",
]  # fmt: skip


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
