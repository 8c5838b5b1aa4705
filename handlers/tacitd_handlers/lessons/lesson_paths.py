"""The paths of the lessons, from the environment.

`~/.claude/lessons/` contains only what the seed defines: the log, the index, promoted/. The origins of
lessons are in tacitd's state directory, in one folder for each lessons directory, because people keep
`~/.claude` under git, and their own words do not belong there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from zlib import crc32

from tacitd.state.paths import config_dir, state_dir

LOG, INDEX, PROMOTED = "lessons.jsonl", "index.json", "promoted"
ORIGINS = "origins.jsonl"


def lessons_dir(env: Mapping[str, str]) -> Path:
    """`~/.claude/lessons`, or the `lessons` folder of CLAUDE_CONFIG_DIR."""
    return config_dir(env) / "lessons"


def lessons_state_dir(env: Mapping[str, str]) -> Path:
    """The folder for data about these lessons, in the handler's state directory; one for each lessons directory."""
    real = os.fsencode(os.path.realpath(lessons_dir(env)))
    return state_dir(env) / "handlers" / "lessons" / f"{crc32(real):08x}"
