"""The stand-in itself, on which the other tests rely."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from support_claude import StandIn, install_stand_in


def call(
    stand_in: StandIn, *arguments: str, stdin: str = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run it as a person's shell would."""
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/dev", **(env or {})}
    return subprocess.run(
        [str(stand_in.program), *arguments], input=stdin, capture_output=True, text=True, env=env, check=False
    )


def test_version_help_and_login(tmp_path: Path) -> None:
    """CLAUDE_CODE, fact 19: what `doctor` calls."""
    stand_in = install_stand_in(tmp_path, version="2.0.76", logged_in=False)
    assert call(stand_in, "--version").stdout == "2.0.76 (Claude Code)\n"
    assert "--no-session-persistence" in call(stand_in, "--help").stdout
    status = call(stand_in, "auth", "status", "--json")
    assert status.returncode == 1
    assert json.loads(status.stdout)["projectsDirectory"] == "/home/dev/.claude/projects"
    assert stand_in.calls() == []


def test_formats_rules_and_uses(tmp_path: Path) -> None:
    """CLAUDE_CODE 3.4: json and stream-json; the first rule that matches and is not used up."""
    stand_in = install_stand_in(
        tmp_path,
        [{"match": "a", "reply": "once", "times": 1}, {"match": "(a.)", "reply": r"got \1", "expand": True}],
    )
    assert json.loads(call(stand_in, "-p", "--output-format", "json", stdin="ab").stdout)["result"] == "once"
    lines = call(
        stand_in, "-p", "--output-format", "stream-json", "--verbose", stdin="ab"
    ).stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["system", "assistant", "result"]
    assert json.loads(lines[-1])["result"] == "got ab"
    assert call(stand_in, "-p", stdin="zz").stdout == "NONE\n"
    assert stand_in.prompts() == ["ab", "ab", "zz"]
    assert [one["rule"] for one in stand_in.calls()] == [0, 1, -1]


def test_rules_by_environment_and_unknown_options(tmp_path: Path) -> None:
    """TACITD_STAND_IN names another file; an unknown option ends it as the client's own parser does."""
    stand_in = install_stand_in(tmp_path, [{"reply": "beside"}])
    (tmp_path / "other.json").write_text('[{"reply": "other"}]')
    assert (
        call(stand_in, "-p", stdin="x", env={"TACITD_STAND_IN": str(tmp_path / "other.json")}).stdout
        == "other\n"
    )
    refused = call(stand_in, "-p", "--restricted", stdin="x")
    assert refused.returncode == 1 and "unknown option '--restricted'" in refused.stderr
    assert call(stand_in, "-p", stdin=" ").returncode == 1
