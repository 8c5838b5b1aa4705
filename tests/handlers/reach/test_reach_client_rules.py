"""What versions of Claude Code load, as it was observed."""

from __future__ import annotations

import pytest

from tacitd_handlers.reach.client_rules import loads_rules, parse_version, when_paths_load


@pytest.mark.parametrize(
    ("version", "rules", "terminal", "headless"),
    [
        ("2.0.14", False, "never", "never"),
        ("2.0.76", True, "start", "start"),
        ("2.1.20", True, "read", "never"),
        ("2.1.63", True, "read", "never"),
        ("2.1.110", True, "read", "read"),
        ("2.1.197", True, "read", "read"),
        ("2.1.328 (Claude Code)", True, "read", "read"),
        ("10.0.0", True, "read", "read"),
    ],
)
def test_observed_versions(version: str, rules: bool, terminal: str, headless: str) -> None:
    """docs/claude-code.md: the table of versions."""
    parsed = parse_version(version)
    assert parsed is not None
    assert loads_rules(parsed) is rules
    assert when_paths_load(parsed, headless=False) == terminal
    assert when_paths_load(parsed, headless=True) == headless


@pytest.mark.parametrize("text", ["", "2.1", "v2.1.3", "x", "2.1." + "9" * 5000])
def test_other_text_is_no_version(text: str) -> None:
    """A version in a transcript can be any text."""
    assert parse_version(text) is None
