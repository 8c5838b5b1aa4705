"""`claudeMdExcludes`: patterns over absolute paths, from all settings files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd_handlers.reach.context_files import find_exclude, read_patterns, translate_glob

RULE = "/home/dev/app/.claude/rules/tacitd/pkg-cart.md"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("**/.claude/rules/**", True),
        ("**/tacitd/**", True),
        ("**/CLAUDE.md", False),
        ("/home/dev/**", True),
        ("/home/*/app/.claude/rules/**", True),
        ("/home/*", False),
        ("**/{x,pkg-*}.md", True),
        ("**/pkg-car?.md", True),
        ("**/pkg-car[a-z].md", True),
        ("**/pkg-car[!a-z].md", False),
        ("pkg-cart.md", False),
        ("**", True),
    ],
)
def test_globs(pattern: str, matches: bool) -> None:
    """As Claude Code reads them: observed with `**/.claude/rules/**`, `**/tacitd/**` and `**/CLAUDE.md`."""
    assert bool(re.fullmatch(translate_glob(pattern), RULE)) is matches


def test_every_settings_file_counts(tmp_path: Path) -> None:
    """The person's, the project's and the project's local one; damaged ones have no pattern and do not block."""
    home, project = tmp_path / ".claude", tmp_path / "app"
    (project / ".claude").mkdir(parents=True)
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"claudeMdExcludes": ["**/a.md", 7, "", "[!"]}))
    (project / ".claude" / "settings.json").write_text('{"claudeMdExcludes": "**"')
    local = project / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"claudeMdExcludes": ["**/tacitd/**"]}))
    found = find_exclude(Path(RULE), read_patterns(home, [project]))
    assert found is not None
    assert (found.pattern, found.file) == ("**/tacitd/**", local)
    local.unlink()
    os.mkfifo(local)
    assert find_exclude(Path(RULE), read_patterns(home, [project])) is None


@examples(200)
@given(st.text(alphabet="ab/*?[]{},!^\\.-", max_size=12), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_is_judged(pattern: str, path: str) -> None:
    """A person's pattern never raises anything but what `read_patterns` catches, and a plain one matches itself only."""
    try:
        made = re.compile(translate_glob(pattern))
    except re.error:
        return
    if not set(pattern) & set("*?[]{}"):
        assert bool(made.fullmatch(path)) is (path == pattern)
