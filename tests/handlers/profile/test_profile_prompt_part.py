"""The profile's prompt extension: its part of the prompt, and of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from tacitd_handlers.profile import profile_finding
from tacitd_handlers.profile.fields import SAYABLE_FIELDS
from tacitd_handlers.profile.profile_finding import as_json, parse_finding

HELIX = {"tools": {"editor": "helix"}}

SPLITS: list[tuple[str, Any, str]] = [
    ("- Prefers pnpm over npm\nPROFILE: {}", None, "- Prefers pnpm over npm"),
    ("- Prefers pnpm\nUses bun", None, "- Prefers pnpm\nUses bun"),
    ("{}", None, ""),
    ("", None, ""),
    ("NONE\nPROFILE: NONE", None, "NONE"),
    ('- a fact\nPROFILE: {"tools": {"editor": "helix"}}', HELIX, "- a fact"),
    ('PROFILE: {"tools": {"editor": "helix"}}\n- a fact', HELIX, "- a fact"),
    ('**PROFILE:** `{"tools": {"editor": "helix"}}`', HELIX, ""),
    ('- a\nPROFILE:\n```json\n{"tools":\n  {"editor": "helix"}}\n```\n- b', HELIX, "- a\n\n- b"),
    ('```json\n{"tools": {"editor": "helix"}}\n```', HELIX, ""),
    ('{"tools": {"editor": "helix"}}', HELIX, ""),
    ('{"message": 1, "fact": "y"}\n{"tools": {"editor": "helix"}}', HELIX, '{"message": 1, "fact": "y"}'),
    ('- a\nPROFILE: {"tools": {"editor": "he\n- b', None, "- a\n\n- b"),
    ('PROFILE: {broken,\n  "x": 1\n}\n- b', None, "- b"),
    ('PROFILE: {"tools": {"editor": "helix"}} and so on', HELIX, ""),
    ("Profile: pictures are never cached", None, "Profile: pictures are never cached"),
    ('{"facts": ["a"]}', None, '{"facts": ["a"]}'),
    ("PROFILE: [1, 2]\n- b", None, "- b"),
    ('PROFILE: {"codePreferences": {"tone": "rude"}}', None, ""),
]


@pytest.mark.parametrize(("answer", "found", "left"), SPLITS)
def test_split(answer: str, found: Any, left: str) -> None:
    """`{}`, nothing and broken JSON are empty findings and not errors; fact lines stay."""
    assert profile_finding.extract_finding(answer) == (found, left)


def test_an_echo_of_what_was_asked_is_no_answer() -> None:
    """SPEC S-35: the prompt's own lines are neither facts nor a finding."""
    assert profile_finding.extract_finding(profile_finding.render_addition() + "- a fact") == (
        None,
        "- a fact",
    )


def test_all_that_is_asked_for_is_named() -> None:
    """SPEC P-05: the prompt names every field that is accepted, and no other."""
    text = profile_finding.render_addition()
    for path in SAYABLE_FIELDS:
        assert f"`{path.split('.')[-1]}`" in text
    assert "`bio`" not in text
    assert profile_finding.name == "profile"


@pytest.mark.parametrize(
    ("given", "values", "gone"),
    [
        ({"work": {"role": " backend\n engineer "}}, {"work.role": "backend engineer"}, {}),
        ({"work": {"languages": "Go"}}, {"work.languages": ("Go",)}, {}),
        ({"codePreferences": {"tone": "Direct", "detailLevel": "huge"}}, {"codePreferences.tone": "direct"}, {}),
        ({"bio": "x", "custom": {"a": 1}, "userId": "y", "work": "z"}, {}, {}),
        ({"interests": ["a", 3, None, "", "x" * 81, "\x1b[31m", "b\u202e"]}, {"interests": ("a", "b")}, {}),
        ({"tools": {"editor": "token ghp_abcdefghijklmnopqrstuvwxyz0123456789"}}, {}, {}),
        ({"noLonger": {"work": {"languages": ["Java"]}, "tools": {"editor": True}}}, {},
         {"work.languages": ("Java",), "tools.editor": ()}),
        ({"noLonger": "all"}, {}, {}),
        ([1], {}, {}),
        ({"tools": {"infra": [str(n) for n in range(50)]}}, {"tools.infra": tuple(str(n) for n in range(20))}, {}),
    ],
)  # fmt: skip
def test_what_can_be_used_of_a_finding(given: Any, values: Any, gone: Any) -> None:
    """SPEC P-05, P-06, S-67: leaves are judged one by one; a bad one does not lose the others."""
    what = parse_finding(given)
    assert (dict(what.values), dict(what.gone)) == (values, gone)
    assert parse_finding(as_json(what)) == what
