"""The child's environment (CLAUDE_CODE 3.1, S-62, S-66, ANCHORS P1, P4, P7)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacitd.model.environment import ISOLATION, NEVER, child_environment, find_command, with_directory

HOME = {"HOME": "/home/dev", "PATH": "/usr/bin:/bin", "USER": "dev", "LOGNAME": "dev"}

THE_TEN = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_THINKING": "1",
    "CLAUDE_CODE_EFFORT_LEVEL": "low",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "API_TIMEOUT_MS": "120000",
}


def test_exactly_what_the_verified_command_has() -> None:
    """CLAUDE_CODE 3.1: the account, the eight variables, tacitd's mark, and no other variable of the parent."""
    parent = HOME | {
        "EDITOR": "vi",
        "SSH_AUTH_SOCK": "/x",
        "LD_PRELOAD": "/evil.so",
        "NODE_OPTIONS": "--require x",
    }
    assert child_environment(parent) == HOME | {"LANG": "C.UTF-8", "TACITD_CHILD": str(os.getpid())} | THE_TEN


def test_a_hooks_variables_never_pass() -> None:
    """S-66: not even when pass_env names them."""
    parent = HOME | dict.fromkeys(NEVER, "1")
    assert not NEVER & set(child_environment(parent, NEVER))


def test_keys_pass_only_when_named() -> None:
    """ANCHORS P1: a key in the environment must not make calls cost money. A base URL is treated alike."""
    keys = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "http://gateway"}
    assert not set(keys) & set(child_environment(HOME | keys))
    assert child_environment(HOME | keys, ["ANTHROPIC_API_KEY"])["ANTHROPIC_API_KEY"] == "k"
    assert child_environment(HOME | keys, keys).items() >= keys.items()


def test_logins_proxies_and_certificates_pass() -> None:
    """DESIGN "Model": proxies, certificates, Bedrock and Vertex logins and the OAuth token pass by default."""
    passing = {
        "https_proxy": "http://p:1",
        "HTTPS_PROXY": "http://p:1",
        "NO_PROXY": "*",
        "SSL_CERT_FILE": "/c",
        "NODE_EXTRA_CA_CERTS": "/c",
        "CLAUDE_CODE_CLIENT_CERT": "/c",
        "AWS_PROFILE": "w",
        "AWS_REGION": "eu-1",
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "CLAUDE_CODE_USE_VERTEX": "1",
        "GOOGLE_APPLICATION_CREDENTIALS": "/g",
        "CLOUD_ML_REGION": "g",
        "ANTHROPIC_VERTEX_PROJECT_ID": "p",
        "VERTEX_REGION_CLAUDE_HAIKU_4_5": "e",
        "CLAUDE_CODE_OAUTH_TOKEN": "o",
        "CLAUDE_CONFIG_DIR": "/elsewhere",
        "TMPDIR": "/t",
    }
    assert child_environment(HOME | passing).items() >= passing.items()


def test_unset_and_empty_variables_are_not_made_up() -> None:
    """ANCHORS P7: CLAUDE_CONFIG_DIR set to its default selects another Keychain entry."""
    child = child_environment(HOME | {"CLAUDE_CONFIG_DIR": "", "HTTPS_PROXY": ""})
    assert "CLAUDE_CONFIG_DIR" not in child and "HTTPS_PROXY" not in child and "TMPDIR" not in child


def test_nothing_overrides_the_isolation() -> None:
    """CLAUDE_CODE fact 3: attachments are off, whatever the person's environment contains."""
    parent = HOME | dict.fromkeys(ISOLATION, "0")
    assert child_environment(parent, ISOLATION).items() >= THE_TEN.items()


def test_what_a_service_manager_leaves_out() -> None:
    """ANCHORS P7: without USER the client reports "Not logged in"; then it comes from the passwd file."""
    child = child_environment({})
    assert all(child[name] for name in ("HOME", "USER", "LOGNAME", "PATH", "LANG"))


def test_the_programs_own_directory_joins_the_path_once() -> None:
    """A client installed by npm starts the `node` in its own directory."""
    assert with_directory("/usr/bin:/bin", "/opt/n/bin") == "/usr/bin:/bin:/opt/n/bin"
    assert with_directory("/usr/bin:/bin", "/bin") == "/usr/bin:/bin"


# --- Finding the client (ANCHORS P7: service managers give a bare PATH).


def put(path: Path) -> Path:
    """Create a program at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_path_comes_first(tmp_path: Path) -> None:
    """The program that the person's shell would start is started."""
    put(tmp_path / "home/.local/bin/claude")
    first = put(tmp_path / "bin/claude")
    assert find_command("claude", {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}) == first


@pytest.mark.parametrize("place", [".claude/local/claude", ".local/bin/claude", ".npm-global/bin/claude"])
def test_well_known_places(tmp_path: Path, place: str) -> None:
    """The installers' places are checked if PATH has none."""
    program = put(tmp_path / place)
    assert find_command("claude", {"PATH": "/nowhere", "HOME": str(tmp_path)}) == program


def test_the_newest_node_wins(tmp_path: Path) -> None:
    """nvm: v22 before v9, by number."""
    nvm = tmp_path / ".nvm/versions/node"
    put(nvm / "v9.11.2/bin/claude")
    newest = put(nvm / "v22.3.0/bin/claude")
    (nvm / "v23.0.0").mkdir()
    assert find_command("claude", {"PATH": "/nowhere", "HOME": str(tmp_path)}) == newest


def test_a_path_is_only_looked_for_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`claude.command` may be a path, with `~`."""
    program = put(tmp_path / "own/claude")
    environ = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    assert find_command("~/own/claude", environ) == program
    assert find_command(str(program), environ) == program
    put(tmp_path / ".local/bin/claude")
    assert find_command("/nowhere/claude", environ) is None


def test_none_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No client is an ordinary state (DESIGN "Model", S-08)."""
    monkeypatch.setattr("tacitd.model.environment._places", lambda command, home: iter([tmp_path / "x"]))
    (tmp_path / "claude").write_text("not executable")
    assert find_command("claude", {"PATH": str(tmp_path), "HOME": str(tmp_path)}) is None
