"""The plugin with the real client: validated, installed from the marketplace file, its command and hooks run, removed again.

Over the oldest and the newest client that are supported, and two between them: all four know plugins. `pytest -m real_client`
runs this.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from real_install import real_client
from real_tui import RealClient, wait_for
from real_world import Machine, Request

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact
from support_sources import ROOT
from support_waiting import PATIENCE

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600)]
VERSIONS = ["2.0.76", "2.1.63", "2.1.197", "2.1.328"]
WITH_STRICT = ("2.1.197", "2.1.328")
"""The older ones have no `validate --strict`."""
DROPS_OUTPUT = "2.0.76"
"""It runs a plugin's hooks, but drops what they print (anthropics/claude-code#16538)."""
FACT, WORDS = "Uses pnpm instead of npm", "in this repository we use pnpm, never npm"
EMPTY_KEYS = ("enabledPlugins", "extraKnownMarketplaces")
"""What the client itself leaves in the settings, empty."""
RULES: list[dict[str, Any]] = [
    {"match": EXTRACTION, "steps": [{"text": say_fact(WORDS, FACT)}]},
    {"match": SYNTHESIS, "steps": [{"text": f"FILE: LEARNED.md\nFACT: {FACT}\n"}]},
    {
        "match": "tacitd why",
        "steps": [{"tool": "Bash", "input": {"command": "tacitd why --no-pager pnpm"}}, {"text": "done"}],
    },
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version, on which a session would only end after an hour; tacitd is on the PATH."""
    one = Machine(tmp_path, real_client(request.param), RULES)
    one.environ["TACITD_SESSION__IDLE"] = "1h"
    # 2.0.76 moves a plugin from there to the home by renaming it.
    one.environ["TMPDIR"] = str(one.root / "tmp")
    (one.root / "tmp").mkdir()
    one.environ["PATH"] = f"{Path(sys.executable).parent}:{one.environ['PATH']}"
    try:
        one.start()
        yield one
    finally:
        one.finish()


def make_environ(machine: Machine) -> dict[str, str]:
    """A person's environment; the state directory is not the usual one, so it is named. The client waits for the MCP server."""
    passed = {
        k: v for k, v in machine.environ.items() if not k.startswith("TACITD_") or k == "TACITD_STATE_DIR"
    }
    return passed | {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_TIMEOUT": "60000"}


def must_run(machine: Machine, *arguments: str) -> str:
    done = machine.run_command(*arguments, environ=make_environ(machine))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(machine: Machine) -> Request:
    """One `claude -p`; return its request for the answer."""
    before = len(machine.asked_by_person())
    assert must_run(machine, "-p", f"{WORDS} [[reply:yes]]").strip() == "yes"
    new = machine.asked_by_person()[before:]
    return next(one for one in new if WORDS in one.text and one.body.get("tools"))


def ask_until(machine: Machine, is_wanted: Callable[[Request], bool], what: str) -> Request:
    """The request of a session with something that the client does not wait long for: on a busy machine a hook may give up
    after 50 ms, and 2.1.328 asks before a plugin's server has started."""
    for _ in range(8):
        found = ask(machine)
        if is_wanted(found):
            return found
    pytest.fail(f"in eight sessions {what}")


def has_context(request: Request) -> bool:
    return "<tacitd-context" in request.text


def has_tool(request: Request) -> bool:
    return "mcp__plugin_tacitd_tacitd__get_profile" in [one["name"] for one in request.body["tools"]]


def read_settings(machine: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((machine.home / ".claude/settings.json").read_text())
    return found


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_the_plugin_comes_works_and_goes(machine: Machine, request: pytest.FixtureRequest) -> None:
    """Both manifests are valid; the hooks bring the context and the end of the session; a command runs; nothing of ours stays."""
    before = read_settings(machine)
    strict = ["--strict"] if any(f"[{one}]" in request.node.name for one in WITH_STRICT) else []
    for folder in (ROOT / "plugin", ROOT):
        assert "Validation passed" in must_run(machine, "plugin", "validate", *strict, str(folder))
    must_run(machine, "plugin", "marketplace", "add", str(ROOT))
    must_run(machine, "plugin", "install", "tacitd@tacitd")
    assert read_settings(machine)["enabledPlugins"] == {"tacitd@tacitd": True}
    refused = machine.cli("hooks", "install")
    assert refused.returncode == 1 and "brings the same hooks" in refused.stderr
    # In no file that a session loads.
    assert machine.cli("profile", "set", "bio", "Builds zebra engines").returncode == 0
    drops = f"[{DROPS_OUTPUT}]" in request.node.name
    no_hook = "no hook was answered within 50 ms"
    first = ask(machine) if drops else ask_until(machine, has_context, no_hook)
    assert first.text.count("Builds zebra engines") == (0 if drops else 1)
    assert has_tool(first) or has_tool(ask_until(machine, has_tool, "no server started in time"))
    assert must_run(machine, "-p", "/tacitd:why pnpm", "--allowedTools", "Bash").strip() == "done"
    # 2.0.76 asks for the warm-up of its sub-agents at the same time, so the last request may be another one.
    texts = [one.text for one in machine.asked_by_person()]
    assert any("Run `tacitd why --no-pager" in one and "that tacitd wrote contains" in one for one in texts)
    must_run(machine, "plugin", "uninstall", "tacitd@tacitd")
    must_run(machine, "plugin", "marketplace", "remove", "tacitd")
    after = read_settings(machine)
    assert {key: value for key, value in after.items() if key not in EMPTY_KEYS} == before
    assert all(after.get(key, {}) == {} for key in EMPTY_KEYS)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_client_goes_on_undisturbed_when_tacitd_is_gone(machine: Machine) -> None:
    """The plugin stays, the package, the daemon and the state directory are gone: neither hooks nor the server's command do harm."""
    must_run(machine, "plugin", "marketplace", "add", str(ROOT))
    must_run(machine, "plugin", "install", "tacitd@tacitd")
    machine.stop()
    machine.environ["PATH"] = machine.environ["PATH"].partition(":")[2]
    assert shutil.which("tacitd", path=machine.environ["PATH"]) is None
    shutil.rmtree(machine.state)
    done = machine.run_client("hello", environ=make_environ(machine))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
    assert not machine.state.exists()


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_words_behind_a_command_are_learned(machine: Machine) -> None:
    """`/tacitd:remember` needs no store of its own: a person's words behind it are prompts, and the hook of the session's end
    makes lines of them. In a terminal, because `-p` is a program's prompt."""
    must_run(machine, "plugin", "marketplace", "add", str(ROOT))
    must_run(machine, "plugin", "install", "tacitd@tacitd")
    with RealClient(machine.client, machine.home, machine.project, make_environ(machine)) as client:
        client.enter(f"/tacitd:remember {WORDS}")
        client.press_enter_until(lambda: any(WORDS in one.text for one in machine.asked_by_person()))
        wait_for(lambda: client.recorded(b'"type":"assistant"') >= 1, PATIENCE, "the answer", client.screen)
        client.leave("/exit")  # 2.0.76 does not wait for its hooks when a signal ends it
    wait_for(
        lambda: FACT in machine.learned,
        2 * PATIENCE,
        f"{FACT} in LEARNED.md",
        lambda: json.dumps(machine.status()),
    )


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_settings_are_as_before_without_our_hooks(machine: Machine) -> None:
    """`hooks install`, a session, `hooks uninstall`: byte-equal, unless the client itself wrote into the file meanwhile."""
    settings = machine.home / ".claude/settings.json"
    before = settings.read_bytes()
    assert machine.cli("hooks", "install").returncode == 0
    assert settings.read_bytes() != before
    must_run(machine, "-p", "hello")
    assert machine.cli("hooks", "uninstall").returncode == 0
    assert settings.read_bytes() == before
