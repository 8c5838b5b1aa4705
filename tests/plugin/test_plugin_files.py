"""The plugin for Claude Code: its manifests fit the package, and its hooks run the installed program or nothing.

What the client itself makes of them is in tests/real_client/test_real_plugin.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import generate
from support_sources import ROOT
from tacitd import __version__
from tacitd.service.client_plugin import NAME, find_marketplace
from tacitd.sources.claude_code.transcripts import EVENTS
from tacitd.state.socket_file import SCRIPT as INSTALLED

SCRIPT = ROOT / "plugin" / "hooks" / "run-hook.sh"
INPUT = '{"hook_event_name":"Stop"}'
FAKE = "cat; echo complaint >&2; exit 2\n"
"""In place of the daemon's script: it prints its input, and fails with the code that would block a prompt."""


def read_json(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_the_manifests_fit_the_package() -> None:
    """One version; the marketplace at the root, which a checkout is installed from, names the plugin's folder."""
    manifest, marketplace = (
        read_json("plugin/.claude-plugin/plugin.json"),
        read_json(".claude-plugin/marketplace.json"),
    )
    assert (manifest["name"], manifest["version"]) == (NAME, __version__)
    (listed,) = marketplace["plugins"]
    assert (listed["name"], listed["description"]) == (NAME, manifest["description"])
    assert (ROOT / listed["source"]).resolve() == ROOT / "plugin" and "version" not in listed
    assert (find_marketplace(), marketplace["name"]) == (ROOT, NAME)


def test_its_hooks_are_for_every_event_that_the_daemon_knows() -> None:
    """Nobody waits for those that print nothing and come with each prompt."""
    hooks = read_json("plugin/hooks/hooks.json")["hooks"]
    assert set(hooks) == set(EVENTS)
    command = 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/run-hook.sh" || true'
    for event, groups in hooks.items():
        beside = {"async": True} if event in ("UserPromptSubmit", "Stop") else {}
        assert groups == [{"hooks": [{"type": "command", "command": command, "timeout": 5, **beside}]}]


def test_it_has_the_commands_and_the_skill() -> None:
    """Each says in front what it is for, so that the client lists it."""
    commands = {path.stem for path in (ROOT / "plugin" / "commands").iterdir()}
    assert commands == {"remember", "learned", "why", "forget", "handoff", "quiz"}
    for path in [*(ROOT / "plugin" / "commands").iterdir(), ROOT / "plugin/skills/tacitd/SKILL.md"]:
        front = path.read_text(encoding="utf-8").split("---\n")[1]
        assert "description: " in front, path
    forget = (ROOT / "plugin/commands/forget.md").read_text(encoding="utf-8").split("---\n")[1]
    assert "tacitd forget" not in forget, "the client must ask before something is removed"


def test_its_commands_are_those_of_the_handlers() -> None:
    """HOUSE "A plugin is a folder": the text of a command is in the folder of the handler that it is about; here is a copy."""
    copies = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "plugin/commands").iterdir()}
    assert copies == generate.slash_commands(), "run `make docs`"


# --- the script of the hooks --------------------------------------------------------------------------------


def run_script(home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script as the client does, with this environment and no other."""
    return subprocess.run(
        ["/bin/sh", "-c", f'sh "{SCRIPT}" || true'],
        env={"HOME": str(home), "PATH": os.environ["PATH"], **environ},
        input=INPUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def put_script(state: Path) -> None:
    """Put the fake script where a daemon with this state directory has it."""
    (state / "hooks").mkdir(parents=True)
    (state / "hooks" / INSTALLED).write_text(FAKE)


@pytest.mark.parametrize(
    "place", ["usual", "XDG_STATE_HOME", "TACITD_STATE_DIR", "a relative XDG_STATE_HOME", "macOS"]
)
def test_the_script_is_found_where_the_daemon_has_it(tmp_path: Path, place: str) -> None:
    """In each state directory that the daemon may have, also with spaces in its path. It never exits with 2."""
    home = tmp_path / "my home"
    home.mkdir()
    state, environ = {
        "usual": (home / ".local/state/tacitd", {}),
        "XDG_STATE_HOME": (tmp_path / "x y/tacitd", {"XDG_STATE_HOME": str(tmp_path / "x y")}),
        "TACITD_STATE_DIR": (tmp_path / "s t", {"TACITD_STATE_DIR": str(tmp_path / "s t")}),
        "macOS": (home / "Library/Application Support/tacitd", {}),
        "a relative XDG_STATE_HOME": (home / ".local/state/tacitd", {"XDG_STATE_HOME": "x"}),
    }[place]
    put_script(state)
    done = run_script(home, **environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, INPUT, "")


@pytest.mark.parametrize("why", ["no tacitd", "no interpreter", "tacitd's own call"])
def test_it_does_nothing(tmp_path: Path, why: str) -> None:
    """Silently: without tacitd, where its interpreter is gone, and in tacitd's own calls of the model."""
    state = tmp_path / "state"
    environ = {"TACITD_STATE_DIR": str(state)}
    if why != "no tacitd":
        put_script(state)
    if why == "no interpreter":
        (state / "hooks" / INSTALLED).write_text("exec /no/python -I -S /no/program.py\n")
    if why == "tacitd's own call":
        environ["TACITD_CHILD"] = "1"
    done = run_script(tmp_path, **environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_script_of_a_cloned_repository_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `.claude/settings.json` has `"env": {"TACITD_STATE_DIR": ".x"}`, and `.x/hooks` a script. As tacitd, which refuses the variable."""
    put_script(tmp_path / ".x")
    monkeypatch.chdir(tmp_path)
    put_script(tmp_path / ".local/state/tacitd")
    assert run_script(tmp_path, TACITD_STATE_DIR=".x").stdout == ""
    assert run_script(tmp_path, TACITD_STATE_DIR="/proc/self/cwd/.x").stdout == ""
    assert run_script(Path()).stdout == "", "a relative HOME"
    assert run_script(tmp_path, TACITD_STATE_DIR=str(tmp_path / ".x")).stdout == INPUT
    assert run_script(tmp_path, TACITD_STATE_DIR="~/.x").stdout == INPUT


def test_a_missing_script_blocks_no_prompt(tmp_path: Path) -> None:
    """`sh` may exit with 2 for a file that it does not find, which Claude Code takes for "block this prompt"."""
    command = read_json("plugin/hooks/hooks.json")["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": str(tmp_path / "gone")},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
