"""One table of all kinds of secrets, each removed, and plain sentences, none of them changed (S-67)."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re

import pytest
from detect_secrets import plugins
from mnemonic import Mnemonic

from support_secrets import SENTENCES, WRITTEN, fill, make_card, make_iban, make_login, random_token, sample
from tacitd.text.redact import SECRET, redact_secrets
from tacitd.text.secret_library import find_library_secrets, list_candidates
from tacitd.text.secret_shapes import SHAPES

TIMES = 20
NOT_SECRETS = {"IPPublicDetector"}
"""Rules of the library that do not search for secrets."""


UNUSED = {"basic_auth", "jwt", "private_key"}
"""Modules of the library whose rules tacitd does not use."""


def library_rules() -> dict[str, re.Pattern[str]]:
    """Every pattern of every plugin of detect-secrets, by the plugin's module, its name and a number."""
    found: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.iter_modules(plugins.__path__):
        for name, thing in vars(importlib.import_module(f"{plugins.__name__}.{module.name}")).items():
            patterns = getattr(thing, "denylist", None)
            if isinstance(thing, type) and isinstance(patterns, list | tuple) and name not in NOT_SECRETS:
                found |= {f"{module.name}-{name}-{at}": pattern for at, pattern in enumerate(patterns)}
    return found


LIBRARY = library_rules()


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_goes(name: str) -> None:
    """A token of each issuer, in a sentence and joined to a name; nothing of it is left."""
    rng = random.Random(name)
    for _ in range(TIMES):
        token = sample(re.compile(SHAPES[name]), rng)
        assert redact_secrets(f"use {token} please")[0] == f"use {SECRET} please", name
        assert token not in redact_secrets(f"X_TOKEN={token}\n")[0]


@pytest.mark.parametrize("name", LIBRARY)
def test_every_rule_of_the_library_is_covered(name: str) -> None:
    """What a rule of detect-secrets finds is removed, by that rule or by tacitd's."""
    rng = random.Random(name)
    for _ in range(TIMES):
        text = sample(LIBRARY[name], rng)
        found = LIBRARY[name].search(text)
        assert found
        value = next((group for group in reversed(found.groups()) if group), found[0]).strip(" \"'=:")
        if name.startswith("private_key"):  # the rule matches the first line only
            value = random_token(rng, "b", 64)
            text = f"{text}: x\n{value}" if text.startswith("PuTTY") else f"-----{text}-----\n{value}"
        assert value not in redact_secrets(f"see {text} there")[0], text


@pytest.mark.parametrize("name", LIBRARY)
def test_a_rule_of_the_library_is_tried_on_what_it_matches(name: str) -> None:
    """The library is loaded for few texts, which are recognised by parts that a rule needs."""
    rng, module = random.Random(name), name.partition("-")[0]
    for _ in range(TIMES):
        text = sample(LIBRARY[name], rng)
        assert module in UNUSED or module in list_candidates(f"see {text} there"), text


def test_few_plain_sentences_load_the_library() -> None:
    """Loading it takes 0.2 s and 6 MB. These sentences are harder than what people write: 1 of 37 has the beginning of a key."""
    assert sum(map(bool, map(list_candidates, SENTENCES))) * 30 <= len(SENTENCES)


def test_the_library_is_used() -> None:
    """A value that only a rule of the library finds."""
    key = random_token(random.Random(1), "x", 48)
    text = f"cos_hmac_secret_access_key = {key}"
    assert find_library_secrets(text) == [(text.index(key), len(text))]


@pytest.mark.parametrize("template", WRITTEN)
def test_what_people_write_goes(template: str) -> None:
    """The value is removed, the words before it are kept."""
    rng = random.Random(template)
    for _ in range(TIMES):
        text = fill(template, rng)
        parts = re.findall(r"[^\s'\"]*<[axbdu]\d+>[^\s'\"]*", template)
        left, count = redact_secrets(text)
        assert count >= 1 and SECRET in left, text
        for run in (
            re.findall(r"(?<=[a-z])[A-Za-z0-9+/]{6,}", text)
            if parts
            else ["hunter2", "-psecret", ":secret@", "geheim"]
        ):
            assert run not in left or run in re.sub(r"<[axbdu]\d+>", "", template), text
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


@pytest.mark.parametrize(
    ("country", "length"),
    [("DE", 22), ("FR", 27), ("NL", 18), ("GB", 22), ("ES", 24), ("NO", 15), ("PL", 28)],
)
def test_accounts_go(country: str, length: int) -> None:
    """With the right checksum and the country's length, in one piece and in groups."""
    rng = random.Random(country)
    for _ in range(TIMES):
        iban = make_iban(country, length, rng)
        assert redact_secrets(f"pay to {iban}.")[0] == f"pay to {SECRET}."
        assert (
            redact_secrets(f"pay to {' '.join(re.findall('.{1,4}', iban))} soon")[0]
            == f"pay to {SECRET} soon"
        )
        assert redact_secrets(f"pay to {iban[:-1]}{(int(iban[-1]) + 1) % 10}")[1] == 0


@pytest.mark.parametrize("strength", [128, 160, 192, 224, 256])
def test_seed_phrases_go(strength: int) -> None:
    """Twelve to twenty-four words, on one line, in a list, after a name."""
    rng = random.Random(strength)
    for _ in range(TIMES):
        words = Mnemonic("english").to_mnemonic(rng.randbytes(strength // 8)).split()
        for text in (
            " ".join(words),
            "my seed phrase: " + " ".join(words),
            "\n".join(words),
            "\n".join(f"{at}. {word}" for at, word in enumerate(words, 1)),
        ):
            left, count = redact_secrets(text)
            assert count == 1 and words[-1] not in left.split() and words[5] not in left.split(), text


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


def test_there_are_enough_plain_sentences() -> None:
    """The number that the requirement names."""
    assert len(set(SENTENCES)) >= 200


@pytest.mark.parametrize("sentence", SENTENCES)
def test_plain_sentences_stay(sentence: str) -> None:
    """Sentences about passwords, tokens, keys, hashes and numbers are not secrets."""
    sentence = sentence.replace("\\|", "|")
    assert redact_secrets(sentence) == (sentence, 0)
