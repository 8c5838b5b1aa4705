"""Where the real client is: named by TACITD_REAL_CLIENT, else installed from npm, once, into a cache directory.

A version is named because a plain install takes whatever npm thinks fits the `node` at hand. The package is a native
binary (from 2.1.113 on; before that a program for `node`) of some 360 MB, so each version is installed once, into
`~/.cache/tacitd-real-client/<version>`, or below TACITD_REAL_CLIENT_CACHE.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from real_tui import VERSION

PACKAGE = "@anthropic-ai/claude-code"


def real_client(version: str = VERSION) -> Path:
    """The client's executable. Skips the test where it cannot be had."""
    named = os.environ.get("TACITD_REAL_CLIENT")
    if named and version == VERSION:
        if not os.access(named, os.X_OK):
            pytest.fail(f"TACITD_REAL_CLIENT={named} is no program")
        return Path(named).absolute()
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH, and TACITD_REAL_CLIENT names no client")
    prefix = _cache() / version
    program = prefix / "node_modules" / ".bin" / "claude"
    if not _works(program):
        _install(prefix, version)
    if not _works(program):
        pytest.skip(f"npm installed {PACKAGE}@{version} without a program that runs here")
    return program


def need_terminal() -> None:
    """Skip the test where nobody can type."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not on PATH: it is the terminal that the client is typed into")


def _cache() -> Path:
    base = os.environ.get("TACITD_REAL_CLIENT_CACHE")
    return Path(base) if base else Path.home() / ".cache" / "tacitd-real-client"


def _works(program: Path) -> bool:
    if not os.access(program, os.X_OK):
        return False
    done = subprocess.run([str(program), "--version"], capture_output=True, timeout=60, check=False)
    return done.returncode == 0


def _install(prefix: Path, version: str) -> None:
    """`--force`, because newer clients declare a newer `node` than they need (they bring their own)."""
    prefix.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--force", "--prefix", str(prefix)]
    try:
        done = subprocess.run(
            [*command, f"{PACKAGE}@{version}"], capture_output=True, text=True, timeout=600, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not install {PACKAGE}@{version} within ten minutes")
    if done.returncode != 0:
        pytest.skip(f"npm could not install {PACKAGE}@{version}: {done.stderr.strip()[-300:]}")
