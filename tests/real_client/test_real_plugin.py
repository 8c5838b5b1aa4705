"""The plugin with the real client: installed by `tacitd plugin install`, its hooks, tools and commands run, taken out again.

Over three versions of the client. `pytest -m real_client` runs this.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from real_install import real_client
from real_tui import RealClient, wait_for
from real_world import VERSIONS, Machine, Request, open_machine

from support_daemon import EXTRACTION, SYNTHESIS
from support_heard import say_fact, say_lines
from support_sources import ROOT
from support_waiting import PATIENCE
from tacitd.service.client_plugin import check_plugin, install_plugin, make_runner, read_state
from tacitd.state.paths import Paths
from tacitd.state.store_files import STORE

pytest_plugins = ["real_asked"]
pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600)]
WITH_STRICT = ("2.1.197", "2.1.331")
"""The oldest has no `validate --strict`."""
FACT, WORDS = "Uses pnpm instead of npm", "in this repository we use pnpm, never npm"
LESSON = [sys.executable, "-c", "from tacitd_handlers.lessons.cli import main; main()"]
RULE = 'WHEN editing "x": a # b -> DO read first -> BECAUSE 日本 <b> & {c}'
NO_HOOK = "no hook was answered within 50 ms"
SETTINGS = ".claude/settings.json"
EMPTY_KEYS = ("enabledPlugins", "extraKnownMarketplaces")
"""What the client itself leaves in the settings, empty."""
RULES: list[dict[str, Any]] = [
    {"match": EXTRACTION, "steps": [{"text": say_fact(WORDS, FACT)}]},
    {"match": SYNTHESIS, "steps": [{"text": say_lines(FACT)}]},
    {
        "match": "tacitd why",
        "steps": [{"tool": "Bash", "input": {"command": "tacitd why --no-pager pnpm"}}, {"text": "done"}],
    },
]


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with a client of this version; tacitd is on the PATH."""
    with open_machine(tmp_path, request.param, RULES) as one:
        one.environ["PATH"] = f"{Path(sys.executable).parent}:{one.environ['PATH']}"
        yield one


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


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
    after 50 ms, and from 2.1.328 on it asks before a plugin's server has started."""
    for _ in range(8):
        found = ask(machine)
        if is_wanted(found):
            return found
    pytest.fail(f"in eight sessions {what}")


def has_context(request: Request) -> bool:
    return "<tacitd-context" in request.text


def has_tool(request: Request) -> bool:
    return "mcp__plugin_tacitd_tacitd__get_profile" in [one["name"] for one in request.body["tools"]]


def read_files(machine: Machine) -> dict[str, bytes]:
    """Every file of the client, by its path in the home directory."""
    places = [machine.home / ".claude", machine.home / ".claude.json"]
    paths = [path for place in places for path in (place, *place.rglob("*")) if path.is_file()]
    return {path.relative_to(machine.home).as_posix(): path.read_bytes() for path in paths}


CLIENTS_OWN = (
    ".claude.json",
    ".claude/backups/*",
    ".claude/plugins/*",
    ".claude/.last-cleanup",
    ".claude/.claude.json",
)
"""What the client writes by itself when it puts a plugin in and takes it out, besides its settings."""


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_install_and_uninstall_leave_the_clients_files_as_before(machine: Machine) -> None:
    """Byte for byte, but for those that the client writes itself; its settings mean the same as before. A second time is fine."""
    must_run(machine, "plugin", "list")  # its first start writes files
    before = read_files(machine)
    for _ in range(2):
        assert machine.cli("plugin", "install").returncode == 0
    assert machine.cli("plugin", "status").returncode == 0
    assert json.loads((machine.home / SETTINGS).read_text())["enabledPlugins"] == {"tacitd@tacitd": True}
    for _ in range(2):
        assert machine.cli("plugin", "uninstall").returncode == 0
    assert machine.cli("plugin", "status").returncode == 1
    after = read_files(machine)
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)} - {SETTINGS}
    logging.getLogger(__name__).info("the client itself changed: %s", sorted(changed))
    assert [name for name in changed if not any(fnmatch(name, own) for own in CLIENTS_OWN)] == []
    settings = json.loads(after[SETTINGS])
    assert all(settings.pop(key, {}) == {} for key in EMPTY_KEYS)
    assert settings == json.loads(before[SETTINGS])


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_the_plugin_works_from_the_wheel(machine: Machine, tmp_path: Path) -> None:
    """Both manifests are valid in the copy that the wheel has, and the client takes it from there."""
    with zipfile.ZipFile(build_wheel(tmp_path)) as wheel:
        wheel.extractall(tmp_path / "wheel")
    copy = tmp_path / "wheel" / "tacitd" / "claude_plugin"
    strict = ["--strict"] if str(machine.client.parents[2].name) in WITH_STRICT else []
    for folder in (copy / "plugin", copy):
        assert "Validation passed" in must_run(machine, "plugin", "validate", *strict, str(folder))
    install_plugin(make_runner(str(machine.client), make_environ(machine)), copy)
    state = read_state(machine.home / ".claude", machine.project)
    assert state.is_enabled and state.marketplace == copy
    assert machine.cli("profile", "set", "bio", "Builds zebra engines").returncode == 0
    ask_until(machine, has_context, NO_HOOK)
    found = list(check_plugin(Paths.from_env(machine.environ), machine.project))
    assert [one.id for one in found] == ["plugin.elsewhere"]  # for the tacitd of this checkout


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_the_plugin_works_until_it_is_taken_out(machine: Machine) -> None:
    """The hooks bring the context and the end of the session; the tools are there; a command runs; afterwards nothing."""
    machine.add_plugin()
    # In no file that a session loads.
    assert machine.cli("profile", "set", "bio", "Builds zebra engines").returncode == 0
    first = ask_until(machine, has_context, NO_HOOK)
    assert first.text.count("Builds zebra engines") == 1
    assert has_tool(first) or has_tool(ask_until(machine, has_tool, "no server started in time"))
    assert must_run(machine, "-p", "/tacitd:why pnpm", "--allowedTools", "Bash").strip() == "done"
    texts = [one.text for one in machine.asked_by_person()]
    assert any("Run `tacitd why --no-pager" in one and "that tacitd wrote contains" in one for one in texts)
    assert machine.cli("plugin", "uninstall").returncode == 0
    last = ask(machine)
    assert not has_context(last) and not has_tool(last)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_hooks_that_are_switched_off_are_said(machine: Machine) -> None:
    """With `disableAllHooks` the client runs none of the plugin's, and doctor names the file."""
    machine.add_plugin()
    file = machine.home / SETTINGS
    file.write_text(json.dumps(json.loads(file.read_text()) | {"disableAllHooks": True}))
    assert not has_context(ask(machine))
    found = {one["id"]: one for one in json.loads(machine.cli("doctor", "--json").stdout)}
    assert str(file) in found["plugin.no-hooks"]["what"]


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_client_goes_on_undisturbed_when_tacitd_is_gone(machine: Machine) -> None:
    """The plugin stays, the package, the daemon and the state directory are gone: neither hooks nor the server's command do harm."""
    machine.add_plugin()
    machine.stop()
    machine.environ["PATH"] = ":".join(one for one in machine.environ["PATH"].split(":") if "venv" not in one)
    assert shutil.which("tacitd", path=machine.environ["PATH"]) is None
    shutil.rmtree(machine.state)
    done = machine.run_client("hello", environ=make_environ(machine))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
    assert not machine.state.exists()


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_words_behind_a_command_are_learned(machine: Machine) -> None:
    """`/tacitd:remember` needs no store of its own: a person's words behind it are prompts, and the hook of the session's end
    makes lines of them. In a terminal, because `-p` is a program's prompt."""
    machine.add_plugin()
    with RealClient(machine.client, machine.home, machine.project, make_environ(machine)) as client:
        client.enter(f"/tacitd:remember {WORDS}")
        client.press_enter_until(lambda: any(WORDS in one.text for one in machine.asked_by_person()))
        wait_for(lambda: client.recorded(b'"type":"assistant"') >= 1, PATIENCE, "the answer", client.screen)
        client.leave("/exit")
    machine.wait_for_line(FACT)


@pytest.mark.parametrize("machine", VERSIONS, indirect=True)
def test_a_session_without_a_daemon_knows_since_when(machine: Machine) -> None:
    """The daemon ended three days ago: the model reads the line once, and the session is not disturbed."""
    machine.add_plugin()
    machine.stop()
    last = time.time() - 3 * 86_400.0
    os.utime(machine.state / STORE, (last, last))
    done = machine.run_client("hello")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "OK from the fake API.", "")
    day = time.strftime("%Y-%m-%d", time.localtime(last))
    texts = [one.text for one in machine.asked_by_person() if "hello" in one.text]
    assert any(text.count(f"tacitd has not run since {day}") == 1 for text in texts)


def test_claude_code_accepts_a_created_skill(tmp_path: Path) -> None:
    """SPEC E-16: `claude plugin validate --strict` finds nothing; without front matter it warns."""
    client = real_client(VERSIONS[-1])
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TACITD_STATE_DIR": str(tmp_path / "state")}
    for arguments in (["add", "--firm", RULE], ["promote", "1", "--to=skill/config-edit", "--create"]):
        subprocess.run([*LESSON, *arguments], env=environ, check=True)
    plugin = tmp_path / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    manifest = {"name": "plugin", "version": "1.0.0", "description": "x", "author": {"name": "x"}}
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    shutil.copytree(tmp_path / ".claude" / "skills", plugin / "skills")
    done = subprocess.run(
        [client, "plugin", "validate", "--strict", plugin],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skills: plugin:config-edit" in done.stdout
