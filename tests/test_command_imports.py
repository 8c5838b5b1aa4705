"""What each command imports. Most of a command's time are imports, and their number does not depend on the machine.

benchmarks/commands.py measures the time itself.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tacitd.control.protocol import encode_result

HEAVY = frozenset(
    {
        "pydantic",
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
WITHOUT_CLICK = HEAVY | {
    "click",
    "dataclasses",
    "hashlib",
    "inspect",
    "typing_extensions",
    "subprocess",
    "urllib.request",
    "xml.sax",
}
"""What commands do not import that run without click in a process of their own."""
SCRIPT = """
import os
import sys
from tacitd_handlers.PROGRAM import main
sys.argv = ["PROGRAM", *sys.argv[1:]]
os._exit = sys.exit
try:
    main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
TACITD, LESSON = "entry_point", "lessons.cli"


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a short name: the socket of a long one has a digest for its name, which takes more modules."""
    return tmp_path_factory.mktemp("f")


@pytest.mark.parametrize(
    ("program", "arguments", "heavy", "most"),
    [
        (TACITD, "--version", LIBRARIES | {"json", "pathlib", "re"}, 3),
        (TACITD, "statusline", LIBRARIES | {"json", "pathlib", "re"}, 4),
        (TACITD, "--help", LIBRARIES | {"pathlib", "hashlib"}, 9),
        (LESSON, "load", LIBRARIES | {"json", "pathlib", "re", "tacitd"}, 14),
        (
            TACITD,
            "status",
            (LIBRARIES - {"typing"}) | {"pathlib", "signal", "socket", "hashlib"},
            23,
        ),
        (TACITD, "config socket", HEAVY | {"msgspec", "subprocess"}, 30),
        (TACITD, "prompts .", WITHOUT_CLICK, 60),
        (TACITD, "context", WITHOUT_CLICK | {"tacitd.text.markdown"}, 98),
        (TACITD, "learned", WITHOUT_CLICK, 92),
        (TACITD, "why something", WITHOUT_CLICK, 98),
        (TACITD, "history", WITHOUT_CLICK, 86),
        (TACITD, "spend", WITHOUT_CLICK, 35),
        (TACITD, "config show", WITHOUT_CLICK, 26),
        (TACITD, "doctor --quick", WITHOUT_CLICK, 66),
    ],
)
def test_commands_import_only_what_they_use(
    program: str, arguments: str, heavy: frozenset[str], most: int, folder: Path
) -> None:
    """DESIGN "The tree", `cli/`: nothing heavy, and at most so many modules of tacitd's own.

    The first run writes the table of the plugins' hooks, for which it scans the entry points.
    """
    list_loaded(program, arguments, folder)
    check_loaded(list_loaded(program, arguments, folder), heavy, most)


@pytest.mark.parametrize("arguments", ["context", "learned", "history"])
def test_a_profile_is_read_without_pydantic(arguments: str, folder: Path) -> None:
    """With its metadata, which says what is learned."""
    memory = folder / ".claude" / "user-memory"
    memory.mkdir(parents=True)
    (memory / "profile.json").write_text('{"work": {"role": "Engineer"}, "schemaVersion": 1}')
    (memory / "profile-meta.json").write_text('{"preferences": [], "schemaVersion": 1}')
    list_loaded(TACITD, arguments, folder)
    check_loaded(list_loaded(TACITD, arguments, folder), WITHOUT_CLICK, 110)


@pytest.mark.parametrize("arguments", ["status", "learned", "why something", "config show", "doctor --quick"])
def test_commands_that_the_daemon_answers_import_next_to_nothing(arguments: str, folder: Path) -> None:
    """They ask, and print the answer."""
    (folder / "state").mkdir()
    (folder / "state" / "socket").write_text("s\n")
    with contextlib.chdir(folder), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind("s")
        listening.listen()

        def answer() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(65_536)
                peer.sendall(encode_result(1, {"printed": ["", "out", "answered\n"]}))

        thread = threading.Thread(target=answer)
        thread.start()
        loaded = list_loaded(TACITD, arguments, folder)
        thread.join()
    check_loaded(loaded, LIBRARIES | {"json", "pathlib", "re", "signal"}, 7)


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


def check_loaded(loaded: set[str], heavy: frozenset[str], most: int) -> None:
    """Nothing heavy is loaded, and at most so many modules of tacitd's own."""
    assert loaded & heavy == set()
    own = {name for name in loaded if name.split(".")[0] in ("tacitd", "tacitd_handlers")}
    assert len(own) <= most, sorted(own)
