"""The child's environment (CLAUDE_CODE 3.1, S-62, S-66, ANCHORS P1, P4, P7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacitd.model.environment import ISOLATION, NEVER, child_environment, find_command

HOME = {"HOME": "/home/dev", "PATH": "/usr/bin:/bin", "USER": "dev", "LOGNAME": "dev"}


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
    names = """
    https_proxy HTTPS_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS CLAUDE_CODE_CLIENT_CERT AWS_PROFILE AWS_REGION
    CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX GOOGLE_APPLICATION_CREDENTIALS CLOUD_ML_REGION CLAUDE_CONFIG_DIR TMPDIR
    ANTHROPIC_VERTEX_PROJECT_ID VERTEX_REGION_CLAUDE_HAIKU_4_5 CLAUDE_CODE_OAUTH_TOKEN
    """
    passing = dict.fromkeys(names.split(), "x")
    assert child_environment(HOME | passing).items() >= passing.items()


def test_unset_and_empty_variables_are_not_made_up() -> None:
    """ANCHORS P7: CLAUDE_CONFIG_DIR set to its default selects another Keychain entry."""
    child = child_environment(HOME | {"CLAUDE_CONFIG_DIR": "", "HTTPS_PROXY": ""})
    assert "CLAUDE_CONFIG_DIR" not in child and "HTTPS_PROXY" not in child and "TMPDIR" not in child


def test_nothing_overrides_the_isolation() -> None:
    """CLAUDE_CODE fact 3: attachments are off, whatever the person's environment contains."""
    parent = HOME | dict.fromkeys(ISOLATION, "0")
    assert child_environment(parent, ISOLATION).items() >= ISOLATION.items()


def test_what_a_service_manager_leaves_out() -> None:
    """ANCHORS P7: without USER the client reports "Not logged in"; then it comes from the passwd file."""
    child = child_environment({})
    assert all(child[name] for name in ("HOME", "USER", "LOGNAME", "PATH", "LANG"))


# --- Finding the client (ANCHORS P7: service managers give a bare PATH).


def put(path: Path) -> Path:
    """Create a program at a path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("command", "there", "found"),
    [
        ("claude", "bin/claude .local/bin/claude", "bin/claude"),
        ("claude", ".claude/local/claude .local/bin/claude", ".claude/local/claude"),
        ("claude", ".npm-global/bin/claude", ".npm-global/bin/claude"),
        ("claude", ".nvm/versions/node/v9.1.2/bin/claude .nvm/versions/node/v22.3.0/bin/claude", ".nvm/versions/node/v22.3.0/bin/claude"),
        ("~/own/claude", "own/claude bin/claude", "own/claude"),
        ("/nowhere/claude", ".local/bin/claude", None),
        ("claude", "", None),
    ],
)  # fmt: skip
def test_where_the_client_is_found(tmp_path: Path, command: str, there: str, found: str | None) -> None:
    """On PATH, otherwise in the installers' places, the newest version of node first; a path is only looked for there (S-08)."""
    for place in there.split():
        put(tmp_path / place)
    (tmp_path / "bin").mkdir(exist_ok=True)
    (tmp_path / "bin/other").write_text("not executable")
    environ = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    assert find_command(command, environ) == (tmp_path / found if found else None)
    assert find_command("other", environ) is None
