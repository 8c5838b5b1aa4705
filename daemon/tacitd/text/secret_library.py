"""The rules of detect-secrets (Yelp, Apache-2.0), applied to a text in memory.

Only the patterns of its plugins are used: no file is scanned, and no secret is verified over a network. The library
imports `requests`, so it is loaded only when a text has something that one of its rules could match (about 0.2 s and 6 MB).

Left out are `BasicAuth`, `JWT` and `PrivateKey`, which take quadratic time on a hostile text and which secret_shapes.py
and secret_context.py cover; keywords and entropy, which are made for source code; and addresses, which are not secrets.
"""

from __future__ import annotations

import re
from functools import cache

from tacitd.text.lazy_pattern import compile_lazily

_NAMED = compile_lazily(r"(?:key|pwd?|pass(?:word)?|token)[\"'\] =:>]++[a-z0-9_-]{24}", re.I)
"""A name with a long value: what `cloudant`, `ibm_cloud_iam` and `softlayer` search for."""
_PLUGINS: dict[str, tuple[str, tuple[str | re.Pattern[str], ...]]] = {
    "artifactory": ("ArtifactoryDetector", ("AKC", compile_lazily(r"AP[0-9A-F][a-zA-Z0-9]{8}"))),
    "aws": (
        "AWSKeyDetector",
        ("A3T", "ABIA", "ACCA", "AKIA", "ASIA", compile_lazily(r"[\"'][0-9a-zA-Z/+]{40}[\"']")),
    ),
    "azure_storage_key": ("AzureStorageKeyDetector", ("AccountKey",)),
    "cloudant": ("CloudantDetector", (_NAMED, ".cloudant.com")),
    "discord": ("DiscordBotTokenDetector", (compile_lazily(r"\.[a-zA-Z0-9_-]{6}\.[a-zA-Z0-9_-]{27}"),)),
    "github_token": ("GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    "gitlab_token": ("GitLabTokenDetector", (compile_lazily(r"gl[a-z]{2,5}-[A-Za-z0-9_-]{20}"), "GR1348941")),
    "ibm_cloud_iam": ("IbmCloudIamDetector", (_NAMED,)),
    "ibm_cos_hmac": ("IbmCosHmacDetector", (compile_lazily(r"[a-f0-9]{48}", re.I),)),
    "mailchimp": ("MailchimpDetector", (compile_lazily(r"[0-9a-z]{32}-us"),)),
    "npm": ("NpmDetector", ("_authToken",)),
    "openai": ("OpenAIDetector", ("T3BlbkFJ",)),
    "pypi_token": ("PypiTokenDetector", ("pypi-",)),
    "sendgrid": ("SendGridDetector", ("SG.",)),
    "slack": ("SlackDetector", ("xox", "hooks.slack.com")),
    "softlayer": ("SoftlayerDetector", (_NAMED, "softlayer")),
    "square_oauth": ("SquareOAuthDetector", ("sq0csp-",)),
    "stripe": ("StripeDetector", ("k_live_",)),
    "telegram_token": ("TelegramBotTokenDetector", (compile_lazily(r":(?<=\d:)[a-zA-Z0-9_-]{35}"),)),
    "twilio": ("TwilioKeyDetector", (compile_lazily(r"(?:AC|SK)[a-z0-9]{32}"),)),
}
"""Module -> its detector, and what a text must contain for it to be tried: a word or a pattern.

A word with capitals is searched in the text as it is, any other in its small letters.
"""
_LONG_RUN = compile_lazily(r"[A-Za-z0-9+/_=-]{11}")
_WORDS = compile_lazily(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def find_library_secrets(text: str) -> list[tuple[int, int]]:
    """The spans of values that a rule of the library matches and that look random; they may overlap."""
    if not _LONG_RUN.search(text):
        return []
    return [
        span
        for module in list_candidates(text)
        for pattern in _load_patterns(module)
        for found in pattern.finditer(text)
        if (span := _value_span(found))
    ]


def list_candidates(text: str) -> list[str]:
    """The modules of the library whose rules may match in this text: nearly always none."""
    small = text.lower()
    return [
        module
        for module, (_, needles) in _PLUGINS.items()
        if any(
            needle in (text if needle != needle.lower() else small)
            if isinstance(needle, str)
            else needle.search(text)
            for needle in needles
        )
    ]


def _value_span(found: re.Match[str]) -> tuple[int, int] | None:
    """The span of the last group that matched, or of the whole match; None if it is part of a longer word, or consists of words."""
    group = max((at for at in range(1, found.re.groups + 1) if found[at]), default=0)
    start, end = found.span(group)
    while start < end and found.string[start] in " \t\r\n\"'=:":
        start += 1
    while start < end and found.string[end - 1] in " \t\r\n\"'":
        end -= 1
    if start and found.string[start - 1].isalnum() and found.string[start].isalnum():
        return None  # within a longer word or hash
    value = found.string[start:end]
    if group and len(value) >= 20 and value.isalpha() and value.islower():
        return start, end  # a key of small letters after a name that the rule requires
    words = _WORDS.findall(value)
    return (start, end) if words and len(value) / len(words) < 4.0 else None


@cache
def _load_patterns(module: str) -> tuple[re.Pattern[str], ...]:
    from importlib import import_module

    detector, _ = _PLUGINS[module]
    return tuple(getattr(import_module(f"detect_secrets.plugins.{module}"), detector).denylist)
