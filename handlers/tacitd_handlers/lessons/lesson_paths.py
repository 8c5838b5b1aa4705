"""The paths of the lessons, from the environment.

Strings without pathlib, for a fast start; a test compares them with `tacitd.state.paths`.

`~/.claude/lessons/` contains only what the seed defines: the log, the index, promoted/. Data about lessons
(origins, projects) is in tacitd's state directory, in one folder for each lessons directory, because people keep
`~/.claude` under git, and their own words do not belong there.
"""

# Importing pathlib takes longer than loading the lessons.
# ruff: noqa: PTH100, PTH118

from __future__ import annotations

import os
import sys
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOG, INDEX, PROMOTED = "lessons.jsonl", "index.json", "promoted"
ORIGINS, PROJECTS = "origins.jsonl", "projects.jsonl"


def lessons_dir(env: Mapping[str, str]) -> str:
    """`~/.claude/lessons`, or the `lessons` folder of CLAUDE_CONFIG_DIR."""
    return os.path.join(_named(env, "CLAUDE_CONFIG_DIR") or os.path.join(_home(env), ".claude"), "lessons")


def lessons_state_dir(env: Mapping[str, str]) -> str:
    """The folder for data about these lessons, in the handler's state directory; one for each lessons directory."""
    real = os.fsencode(os.path.realpath(lessons_dir(env)))
    return os.path.join(_state(env), "handlers", "lessons", f"{crc32(real):08x}")


def log_path(env: Mapping[str, str]) -> str:
    return os.path.join(lessons_dir(env), LOG)


def index_path(env: Mapping[str, str]) -> str:
    return os.path.join(lessons_dir(env), INDEX)


def _state(env: Mapping[str, str]) -> str:
    named = _named(env, "TACITD_STATE_DIR")
    if named:
        return named
    if not sys.platform.startswith("linux"):
        from tacitd.state.paths import state_dir

        return os.fspath(state_dir(env))
    base = env.get("XDG_STATE_HOME", "")
    return os.path.join(base if base.startswith("/") else os.path.join(_home(env), ".local/state"), "tacitd")


def _named(env: Mapping[str, str], variable: str) -> str:
    text = env.get(variable, "")
    if text == "~" or text.startswith("~/"):
        text = _home(env) + text[1:]
    return os.path.abspath(text) if text else ""


def _home(env: Mapping[str, str]) -> str:
    named = env.get("HOME", "")
    if named.startswith("/"):
        return named
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir
