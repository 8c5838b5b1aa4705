"""What each command imports. Most of a command's time are imports, and their number does not depend on the machine.

benchmarks/commands.py measures the time itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    {
        "pydantic",
        "pydantic_settings",
        "rich",
        "apscheduler",
        "watchdog",
        "loguru",
        "asyncio",
        "rapidfuzz",
        "daemon",
        "psutil",
        "prompt_toolkit",
        "yaml",
        "mcp",
        "detect_secrets",
        "importlib.metadata",
        "tacitd.plugins",
    }
)
"""What takes as long to import as Python takes to start, or longer."""
LIBRARIES = HEAVY | {"click", "msgspec", "dataclasses", "inspect", "typing", "subprocess"}
"""What commands that are answered without click do not import either. `pathlib` and `socket` are faster."""
SCRIPT = """
import sys
from tacitd_handlers.PROGRAM import main
sys.argv = ["PROGRAM", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
TACITD, LESSON = "entry_point", "lessons.cli"


@pytest.mark.parametrize(
    ("program", "arguments", "heavy", "most"),
    [
        (TACITD, "--version", LIBRARIES | {"json", "pathlib", "re"}, 3),
        (TACITD, "statusline", LIBRARIES | {"json", "pathlib", "re"}, 4),
        (TACITD, "--help", LIBRARIES | {"pathlib"}, 6),
        (LESSON, "load", LIBRARIES | {"json", "pathlib", "re", "tacitd"}, 18),
        (TACITD, "status", HEAVY | {"msgspec", "subprocess"}, 32),
        (TACITD, "config socket", HEAVY | {"msgspec", "subprocess"}, 22),
        (TACITD, "prompts .", HEAVY, 60),
        (TACITD, "context", HEAVY, 140),
        (TACITD, "learned", HEAVY, 125),
        (TACITD, "why something", HEAVY, 130),
    ],
)
def test_commands_import_only_what_they_use(
    program: str, arguments: str, heavy: frozenset[str], most: int, tmp_path: Path
) -> None:
    """DESIGN "The tree", `cli/`: nothing heavy, and at most so many modules of tacitd's own.

    The first run writes the table of the plugins' hooks, for which it scans the entry points.
    """
    loaded = set[str]()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("PROGRAM", program), *arguments.split()],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "TACITD_STATE_DIR": str(tmp_path / "state")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = set(done.stderr.splitlines()[-1].split())
    assert loaded & heavy == set()
    own = {name for name in loaded if name.split(".")[0] in ("tacitd", "tacitd_handlers")}
    assert len(own) <= most, sorted(own)
