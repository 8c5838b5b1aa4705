"""Secrets are removed, ordinary words are kept (S-67, ANCHORS P15)."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.text.redact import SECRET, has_secret, redact_secrets

# Assembled, so that no scanner reports this file as a leak.
SECRETS = {
    "anthropic": "sk-ant-" + "api03-AbCdEf123456_789",
    "openai": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0",
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "fine-grained": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "jwt": "eyJhbGciOiJIUzI1NiJ9."
    + "eyJzdWIiOiIxMjM0NTY3ODkwIn0."
    + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "npm": "npm_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5",
    "random": "q7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuE",
}


@pytest.mark.parametrize("name", SECRETS)
def test_known_shapes_go(name: str) -> None:
    """Values with a known shape are replaced; the sentence around them is kept."""
    assert redact_secrets(f"use {SECRETS[name]}, please") == (f"use {SECRET}, please", 1)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=hunter2", "password=[secret]"),
        ('DB_PASSWORD: "correct horse"', 'DB_PASSWORD: "[secret]"'),
        ("the api key is Zx81mn40qp", "the api key is [secret]"),
        ("my password is hunter2!x.", "my password is [secret]"),
        ("token: ab12cd34ef", "token: [secret]"),
        ('"client_secret": "s3cr3tvalue"', '"client_secret": "[secret]"'),
        ("password: 123456", "password: [secret]"),
        ("postgres://app:s3cret@db.local/main", "postgres://app:[secret]@db.local/main"),
        ("redis://:hunter2@cache:6379/0", "redis://:[secret]@cache:6379/0"),
        ("Authorization: Bearer abcdef1234567890abcd", "Authorization: Bearer [secret]"),
    ],
)
def test_named_values_go(text: str, left: str) -> None:
    """A value with a secret's name before it is replaced; the name is kept."""
    assert redact_secrets(text) == (left, 1)


def test_a_private_key_goes_whole() -> None:
    """PEM blocks are removed from the first line to the last, also with the end cut off."""
    begin = "-----BEGIN " + "OPENSSH PRIVATE KEY-----"
    end = "-----END " + "OPENSSH PRIVATE KEY-----"
    assert redact_secrets(f"a\n{begin}\nb3BlbnNzaC1rZXk\nAAAA\n{end}\nz")[0] == f"a\n{SECRET}\nz"
    assert redact_secrets(f"a\n{begin}\nb3BlbnNzaC1rZXk\nAAAA")[0] == f"a\n{SECRET}"


@pytest.mark.parametrize(
    "text",
    [
        "use pnpm, not npm, and never commit to main without a test",
        "the token: a JWT that we get from the auth service",
        "rename the password field to passphrase and keep the secret handling as it is",
        "password: string; token?: string | null",
        "the secret is patience, the password is required",
        "max_tokens: 4096, tokenizer: gpt2bpe, token_count=1234567",
        "password = os.environ['DB_PASSWORD'] and token=${GITHUB_TOKEN}",
        "password=$DB_PASSWORD token={{ token }} secret: <your-secret> api_key=YOUR_API_KEY_1",
        "const token = await getToken2(user); this.password = password2",
        "password_hash = argon2id(password), tokens are base64url, the token is sha256-hashed",
        "see commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and 356a192",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "session 123e4567-e89b-12d3-a456-426614174000",
        "in handlers/tacitd_handlers/learning/extraction2/Prompt2Builder/very_long_directory_name_1.py",
        "/home/dev/Projects2024/MyCompany_Backend1/src/main/java/com/example/UserServiceImpl2.java",
        "getUserAccountByIdFromDatabaseConnectionPool2AndRetry3Times must stay",
        "UserAuthenticationServiceImplFactoryBean2024Configuration1",
        "TEST_USER_ACCOUNT_CREATION_WITH_2_FACTORS_AND_3_RETRIES",
        "https://github.com/owner/repo/blob/main/src/SomeVeryLongFileNameWithNumbers123AndMore456.ts#L10-L20",
        "https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit",
        "integrity sha512-q7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuEq7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuE==",
        "sk-learn and task-runner-configuration-option-names are fine, so is sk-something-with-a-long-name",
        "git@github.com:owner/repo.git, http://localhost:8080/a@b, mailto:me@example.com",
        "basic authentication with bearer authentication tokens",
        "iVBORw0KGgoAAAANSUhEUg",
        "--------------------------------------------------------------",
        "Use TypeScript 5.4's `satisfies`; api key: see the vault, secret: in 1Password",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    """Sentences about code, hashes, uuids, paths, identifiers, addresses and placeholders are not changed."""
    assert redact_secrets(text) == (text, 0)
    assert not has_secret(text)


_FRAGMENTS = [*SECRETS.values(), "password=", "token: ", SECRET, "://a:", "@", "is ", " ", "\n", '"', "a1", "-----BEGIN RSA PRIVATE KEY-----", "Bearer ", "sha512-"]  # fmt: skip


@examples(150)
@given(st.lists(st.sampled_from(_FRAGMENTS) | st.text(string.printable, max_size=8), max_size=8).map("".join))
def test_twice_is_once(text: str) -> None:
    """Words are redacted before the model and again before the write; the second time changes nothing."""
    once, count = redact_secrets(text)
    assert redact_secrets(once) == (once, 0)
    assert (count > 0) == (once != text) == has_secret(text)


def test_most_random_tokens_go() -> None:
    """A 40-character base62 token is recognised nearly always; the words of a language never are."""
    rng = random.Random(7)
    tokens = ["".join(rng.choices(string.ascii_letters + string.digits, k=40)) for _ in range(500)]
    assert sum(has_secret(token) for token in tokens) >= 480


def test_a_large_text_takes_no_time() -> None:
    """A 400 KB prompt of one repeated character does not take quadratic time."""
    for text in ("a" * 400_000, "token" * 80_000, "://a:" * 80_000, "-----BEGIN " * 30_000, "aB1" * 130_000):
        redact_secrets(text)
