"""A skill that `lesson promote --create` makes, judged by the real client's own validator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real_install import real_client

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(300)]
LESSON = [sys.executable, "-c", "from tacitd_handlers.lessons.cli import main; main()"]
RULE = 'WHEN editing "x": a # b -> DO read first -> BECAUSE 日本 <b> & {c}'


def test_claude_code_accepts_a_created_skill(tmp_path: Path) -> None:
    """SPEC E-16: `claude plugin validate --strict` finds nothing; without front matter it warns."""
    client = real_client()
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TACITD_STATE_DIR": str(tmp_path / "state")}
    for arguments in (["add", RULE], ["promote", "1", "--to=skill/config-edit", "--create"]):
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
