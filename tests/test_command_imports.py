"""What commands import. Most of a command's time are imports, and what they are does not depend on the machine.

benchmarks/commands.py measures the time itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FORBIDDEN = frozenset(
    {
        "apscheduler",
        "asyncio",
        "daemon",
        "importlib.metadata",
        "logging",
        "loguru",
        "pydantic",
        "rapidfuzz",
        "subprocess",
        "tacitd.app",
        "tacitd.engine",
        "watchdog",
        "yaml",
    }
)
"""What takes a third of the start of Python or longer, and a command that looks at something does not need."""
SMALL = FORBIDDEN | {"click", "json", "msgspec", "pathlib", "re"}
"""What the two programs that others call again and again do not import either."""
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
    ("program", "arguments", "forbidden"),
    [
        (TACITD, "statusline", SMALL),
        (LESSON, "load", FORBIDDEN),
        (TACITD, "--version", FORBIDDEN | {"msgspec"}),
        (TACITD, "--help", FORBIDDEN),
        (TACITD, "config socket", FORBIDDEN | {"msgspec"}),
        (TACITD, "context", FORBIDDEN),
        (TACITD, "history", FORBIDDEN),
        (TACITD, "learned", FORBIDDEN),
        (TACITD, "prompts .", FORBIDDEN),
        (TACITD, "spend", FORBIDDEN),
        (TACITD, "status", FORBIDDEN),
        (TACITD, "why something", FORBIDDEN),
    ],
)
def test_commands_import_nothing_heavy(
    program: str, arguments: str, forbidden: frozenset[str], tmp_path: Path
) -> None:
    """DESIGN "The tree", `cli/`: what a command that looks at something does not need."""
    assert list_loaded(program, arguments, tmp_path) & forbidden == set()


@pytest.mark.parametrize("arguments", ["context", "learned", "history"])
def test_a_profile_is_read_without_pydantic(arguments: str, tmp_path: Path) -> None:
    """With its metadata, which says what is learned."""
    memory = tmp_path / ".claude" / "user-memory"
    memory.mkdir(parents=True)
    (memory / "profile.json").write_text('{"work": {"role": "Engineer"}, "schemaVersion": 1}')
    (memory / "profile-meta.json").write_text('{"preferences": [], "schemaVersion": 1}')
    assert list_loaded(TACITD, arguments, tmp_path) & FORBIDDEN == set()


def list_loaded(program: str, arguments: str, folder: Path) -> set[str]:
    """The modules that are loaded when the command ends."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("PROGRAM", program), *arguments.split()],
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "TACITD_STATE_DIR": str(folder / "state")},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())
