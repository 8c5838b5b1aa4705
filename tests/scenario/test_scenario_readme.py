"""The README's first command, byte for byte: a fresh home, a fresh virtual environment, no claude."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support_daemon import until

pytestmark = [pytest.mark.scenario, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
INHERITED = ("PIP_", "HTTP", "http", "SSL_", "NO_PROXY", "no_proxy")


def command(name: str) -> str:
    """The text between the marks of this name in the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n((?: {{4}}.+\n)+)<!-- /{name} -->", text)
    assert found is not None, name
    lines = found[1].splitlines()
    assert len(lines) == 1, "each command is one line"
    return lines[0].strip()


def test_the_first_command_ends_with_the_daemon_running(tmp_path: Path) -> None:
    """README: one line installs tacitd into a virtual environment of its own and runs it in the foreground. It prints
    what it watches, what it may cost and what is missing. `tacitd status` answers, and `tacitd stop` stops it.
    `lesson` is on the same path, because agents call it by that name."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(INHERITED)}
    path = os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin"))
    env = passed | {"HOME": str(tmp_path), "PATH": path, "LANG": "C.UTF-8"}
    program = str(tmp_path / ".local" / "bin" / "tacitd")

    def tacitd(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, *arguments], env=env, capture_output=True, text=True, timeout=60, check=False
        )

    said = tmp_path / "said"
    with said.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", command("run")], cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True
        )
    try:
        until(lambda: process.poll() is not None or "Ctrl-C" in said.read_text(), 240, said.read_text)
        assert process.poll() is None, said.read_text()
        for word in ("watches", "may cost at most $1.00 a day", "`claude` was not found"):
            assert word in said.read_text()
        status = tacitd("status")
        assert (status.returncode, "`claude` was not found" in status.stdout) == (0, True)
        add = [str(Path(program).with_name("lesson")), "add", "WHEN a -> DO b -> BECAUSE c"]
        assert subprocess.run(add, env=env, timeout=60, check=False).returncode == 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
        server = subprocess.run(
            [program, "mcp"], env=env, input=asked, capture_output=True, text=True, timeout=60, check=False
        )
        assert '"serverInfo"' in server.stdout, server.stderr
        (copy,) = (tmp_path / ".local/share/tacitd/venv/lib").glob(
            "python*/site-packages/tacitd/claude_plugin"
        )
        source = json.loads((copy / ".claude-plugin/marketplace.json").read_text())["plugins"][0]["source"]
        assert (copy / source / "hooks/run-hook.sh").is_file() and (copy / source / ".mcp.json").is_file()
        refused = tacitd("plugin", "install")
        assert refused.returncode == 69 and "`claude` is not found" in refused.stderr
        assert tacitd("stop").returncode == 0
        assert process.wait(60) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
