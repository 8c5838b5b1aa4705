"""Samples of secrets, generated while a test runs, and sentences that only mention secrets.

The source contains nothing with a secret's shape, so that no scanner reports the tests as a leak: values come from a
seeded generator or from a rule's pattern. `<aN>`, `<xN>`, `<bN>` and `<dN>` in a template become N random letters and
digits, hexadecimal digits, base64 characters, digits.
"""

from __future__ import annotations

import base64
import random
import re
import string
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

ALNUM = string.ascii_letters + string.digits
_ALPHABETS = {
    "a": ALNUM,
    "x": "0123456789abcdef",
    "b": ALNUM + "+/",
    "d": string.digits,
    "u": string.ascii_uppercase + "234567",
}
_FIELD = re.compile(r"<([axbdu])(\d+)>")


def random_token(rng: random.Random, kind: str, length: int) -> str:
    """Random characters. Of letters and digits each kind occurs, as in nearly all real secrets."""
    while True:
        made = "".join(rng.choices(_ALPHABETS[kind], k=length))
        if length < 6 or kind in "xdu" or re.search(r"\d.*[a-zA-Z]|[a-zA-Z].*\d", made):
            return made


def fill(template: str, rng: random.Random) -> str:
    """Given a template, return it with random characters in its fields."""
    return _FIELD.sub(lambda field: random_token(rng, field[1], int(field[2])), template)


def sample(pattern: re.Pattern[str], rng: random.Random) -> str:
    """A random text that the pattern matches, with short repeats and printable ASCII."""
    while True:
        made = _draw(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE), rng, {})
        if pattern.search(made):
            return made


_CATEGORIES = {
    op.CATEGORY_DIGIT: string.digits,
    op.CATEGORY_WORD: ALNUM + "_",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: ALNUM,
}


def _draw(parsed: Any, rng: random.Random, groups: dict[int, str]) -> str:
    return "".join(_draw_one(what, given, rng, groups) for what, given in parsed)


def _draw_one(what: Any, given: Any, rng: random.Random, groups: dict[int, str]) -> str:
    match what:
        case op.LITERAL:
            return chr(given)
        case op.NOT_LITERAL | op.ANY:
            return rng.choice(ALNUM)
        case op.IN:
            return rng.choice(_members(given))
        case op.BRANCH:
            return _draw(rng.choice(given[1]), rng, groups)
        case op.SUBPATTERN:
            made = _draw(given[3], rng, groups)
            if given[0] is not None:
                groups[given[0]] = made
            return made
        case op.GROUPREF:
            return groups[given]
        case op.ATOMIC_GROUP:
            return _draw(given, rng, groups)
        case op.MAX_REPEAT | op.MIN_REPEAT | op.POSSESSIVE_REPEAT:
            low, high, inner = given
            more = 24 if int(high) > 1000 and len(inner) == 1 and inner[0][0] in (op.IN, op.ANY) else 3
            times = rng.randint(max(low, more // 2 if more > 3 else low), min(int(high), low + more))
            return "".join(_draw(inner, rng, groups) for _ in range(times))
        case _:
            return ""  # what looks around


def _members(given: Any) -> str:
    found = ""
    negated = False
    for what, value in given:
        match what:
            case op.LITERAL:
                found += chr(value)
            case op.RANGE:
                found += "".join(chr(code) for code in range(value[0], min(value[1], 126) + 1))
            case op.CATEGORY:
                found += _CATEGORIES.get(value, "")
            case op.NEGATE:
                negated = True
    return "".join(set(ALNUM) - set(found)) if negated else found


def make_card(prefix: str, length: int, rng: random.Random) -> str:
    """A number with the prefix, length and checksum of a card."""
    body = prefix + "".join(rng.choices(string.digits, k=length - len(prefix) - 1))
    total = sum(int(d) if at % 2 else sum(divmod(int(d) * 2, 10)) for at, d in enumerate(reversed(body)))
    return f"{body}{-total % 10}"


def make_login(rng: random.Random) -> str:
    """User and password in base64, as docker stores them."""
    return base64.b64encode(fill("robot:<a14>", rng).encode()).decode()


PLAIN = """
the password must have 12 characters|a password needs at least 8 characters, one digit and one sign|token bucket|use a token bucket with 100 tokens per second
the key is sorted|use a hash map|revert 3f2a9c1|cherry-pick 9fceb02d0ae598e95dc970b74767f19372d61af8 onto main|the token limit is 200000|max_tokens is 4096
sessions expire after 30 minutes|the access token expires in 3600 seconds|refresh tokens rotate every 30 days|password reset links are valid for 24h
hash passwords with argon2id|hash the password with bcrypt, cost 12|use sha256 for the key|the token is a JWT|tokens are signed with RS256|use ES256 for the token, not HS256
passwords are stored with pbkdf2 and 600000 iterations|the secret is in 1Password|read the token from the environment|keep secrets out of git|never log tokens or passwords
the primary key is an integer|the primary key is a uuid|the foreign key is user_id|the cache key is d41d8cd98f00b204e9800998ecf8427e|sort by key, then by value
password: string|password?: string;|token: string \\| null|secret: Option<String>|apiKey: process.env.API_KEY|password = os.environ["DB_PASSWORD"]|token=${GITHUB_TOKEN}
api_key=YOUR_API_KEY|password: <your-password>|password: ********|token: "..."|export TOKEN=$(cat token.txt)|secret: {{ vault.secret }}|pass the token as an argument
the password field is called passphrase|rename password1 to password2|the password input2 field is hidden|login form has a password box|show the password strength meter
the key binding is ctrl-k|press any key to continue|arrow keys move the cursor|the key-value store is redis 7.2|an api key is needed for openai|ask me for the api key
do not hard-code api keys|rotate the signing key every 90 days|the public key is in keys/2024.pub|ssh keys are ed25519|generate rsa 4096 keys|the key size is 256 bits
two secrets are missing|a trade secret|the secret of good tests is speed|keep it secret, keep it safe|--- PASS: TestUpsertSectionPreservesSurroundingContentAA (0.00s)|apiKey = "disabled"|Set your API key: ```bash|password managers are fine|no password is needed for localhost
session 123e4567-e89b-12d3-a456-426614174000|the id is 123e4567-e89b-12d3-a456-426614174000|trace 4bf92f3577b34da6a3ce929d0e0e4736|etag 33a64df551425fcc55e4d42a148795d9f25f89d4
listen on port 8080|the db runs on 127.0.0.1:5432|call +1 415 555 2671|call me at 030-1234567|phone 0049 30 1234567890|version 1.2.3-beta.4+build.567|python 3.11.7, node v20.11.1
bump to v2.14.0|the build number is 20240115123456|timestamp 1700000000000|1700000000000000 microseconds|order 4111111111111112 is late|issue 12345 and pull request 678
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855|md5 of the file is d41d8cd98f00b204e9800998ecf8427e|git show 356a192b7913b04c54574d18c28d46e6395428ab
the tokenizer is gpt2bpe|count tokens with tiktoken|tokenise the input into 512 tokens|token_count=1234567|the model takes 128k tokens|prompt tokens: 1234, completion tokens: 567
use pnpm, not npm|never commit to main without a test|the auth service is written in Go 1.22|oauth2 with PKCE|openid connect and saml2|basic authentication is off|bearer authentication is on
curl -u is for basic auth|mysql -p asks for the password|run mysql -u root -p|psql -U postgres -h localhost|docker login asks for a password|docker run -p 8080:80 nginx
docker run -p 127.0.0.1:5432:5432 postgres|ssh -p 2222 host|cp -p file1 file2|mkdir -p src/a1/b2|curl https://example.com/a?page=2|https://example.com/search?q=password+reset
https://example.com/?key=value|https://example.com/login?next=/home|https://user@example.com/path|git@github.com:owner/repo.git|http://localhost:3000/a@b|mailto:me@example.com
https://github.com/owner/repo/commit/9fceb02d0ae598e95dc970b74767f19372d61af8|see https://docs.example.com/auth/tokens#refresh-tokens|https://example.com/v1/users/12345?sort=key
the token endpoint returns 401|password login returns 403|error 500 in token.service.ts line 42|tests/test_token2.py fails|src/auth/password_reset.py:120|class TokenBucket2
getToken2() is slow|const token = await getToken(user);|this.password = password;|user.password = hash(password)|def check_password(self, password):|if token is None: return
token = jwt.encode(payload, key)|password=password|token=token, secret=secret|assert token == expected_token|const { token, secret } = config|password: z.string().min(8)
password: { type: 'string', minLength: 12 }|"password": "Password is required"|"password": "must be at least 8 characters"|"token": "Token has expired"|label: "Password"|placeholder="Password"
type="password"|<input type="password" name="password">|aria-label="password"|name: password, type: text|the passwords do not match|wrong password, try again in 15 minutes
das Passwort muss 12 Zeichen haben|das Passwort ist zu kurz|le mot de passe doit avoir 12 caractères|la contraseña debe tener 8 caracteres|wachtwoord vergeten|a senha deve ter 10 letras
パスワードは12文字以上|密码至少8位|비밀번호는 8자 이상|пароль должен быть длиннее 10 знаков|il token scade dopo 3600 secondi|der Schlüssel ist sortiert|clave primaria
use 2fa, not sms|totp codes have 6 digits|the pin has 4 digits|one-time passwords are valid for 30 seconds|webauthn and passkeys|passkeys replace passwords in 2025|the secret has 32 bytes
base64 is not encryption|use aes-256-gcm|x509 certificates|tls1.3 only|secp256k1 curve|hmac-sha256 signatures|nonce and salt are 16 bytes|key derivation with scrypt|the key is a tuple of (a, b)
sort -k2 -t: /etc/passwd|grep -rn password src/|rg "api_key" --type py|kubectl get secret db-creds -o yaml|vault kv get secret/app|gh auth token|gh secret list|npm token list
set the flag --token to pass it|the --password option is deprecated|--password-file /run/secrets/db|--api-key is required|the secret-key-base setting|TOKEN and SECRET are set in CI
compare keys case-insensitively|a composite key of tenant_id and created_at|keys() returns a view|the map's key type is string|an ssh host key changed|license key checks are off
SG. is the prefix|tokens that begin with sk- are secret|the AKIA prefix means aws|ghp_ tokens are classic ones|eyJ is the start of a jwt|xoxb is a bot token|use hvs. tokens
write a small test for each new function that you add and keep it simple|alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu
handlers/tacitd_handlers/learning/extraction2/Prompt2Builder|UserAuthenticationServiceImplFactoryBean2024|getUserAccountByIdFromDatabase2AndRetry3Times|MAX_PASSWORD_LENGTH_2 = 128
the password policy changed in 2023|password auth is deprecated since 2021|token v2 replaces token v1|passwords, 3 of them, were reset|secret santa on 12/24|key 1 and key 2 are equal
"""
SENTENCES = tuple(one for line in PLAIN.strip().splitlines() for one in re.split(r"(?<!\\)\|", line) if one)
"""Sentences about passwords, tokens, keys, hashes and numbers, without a secret."""
