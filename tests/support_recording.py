"""The final files of a story, recorded in `tests/stories/recorded/`: a file for each area, each story with its files.

What differs from run to run is replaced: the home's path by `~`, a time by its distance from the beginning of the story
(`{+1d 06:31:04}`), an id that is made at random by a word. Left out are transcripts, what git keeps, the state directory,
and files that are derived from others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from datetime import UTC, date, datetime, timedelta
from difflib import unified_diff
from pathlib import Path

from tacitd.testing import World

RECORDED = Path(__file__).parent / "stories" / "recorded"
INPUTS = (".codex/sessions/", ".codex/archived_sessions/")
"""Where the paths of another client's transcripts begin, which are left out like those of Claude Code."""
DERIVED = (".claude/lessons/index.json", "/README", ".lock")
"""Ends of the paths that are left out: they hold stamps of the file system or nothing, or are there from the beginning."""
_TIME = re.compile(
    r"(?<!\d)(?P<date>\d{4}-\d{2}-\d{2})(?:(?P<gap>[T ])(?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?Z?)?(?!\d)"
)
_NAME_TIME = re.compile(r"(?<!\d)(?P<date>\d{8})-(?P<time>\d{4,6})-(?P<what>[\w-]+?)-[0-9a-f]{4}\b")
_SECONDS = re.compile(r"(?<![\w.])1\d{9}(?:\.\d+)?(?![\w.])")
"""Seconds since 1970, from 2001 to 2033."""
_FLOAT = re.compile(r"\d+\.\d{7,}")

Files = dict[str, list[str]]
"""By path, the lines of the files below a home."""


def record_files(world: World) -> Files:
    """The files of this person, with everything replaced that differs from run to run."""
    home = re.compile(re.escape(str(world.home)))
    found = dict[str, list[str]]()
    for name, text in world.list_files().items():
        if not name.endswith(DERIVED) and not name.startswith(INPUTS):
            lines = _replace(home.sub("~", text), world.begun).split("\n")
            # The names of two files may differ only in what is replaced; the lines of both are kept.
            found.setdefault(_replace(name, world.begun), []).extend(lines)
    return found


def _replace(text: str, at: float) -> str:
    begun = datetime.fromtimestamp(at, UTC).date()
    text = _NAME_TIME.sub(lambda found: f"{{{_days(found['date'], begun)}}}-{found['what']}-id", text)
    text = _TIME.sub(lambda found: _write_time(found, begun), text)
    text = _SECONDS.sub(lambda found: f"{{{float(found[0]) - at:+.0f}s}}", text)
    return _FLOAT.sub(lambda found: f"{float(found[0]):.6f}", text)


def _write_time(found: re.Match[str], begun: date) -> str:
    clock = f" {found['time']}" if found["time"] else ""
    return f"{{{_days(found['date'], begun)}{clock}}}"


def _days(text: str, begun: date) -> str:
    try:
        passed = date.fromisoformat(text) - begun
    except ValueError:
        return text
    return f"{passed / timedelta(days=1):+.0f}d"


def compare_files(recorded: Files, files: Files) -> str:
    """The differences as a person reads them; "" if there are none."""
    lines = list[str]()
    for name in sorted({*recorded, *files}):
        before, after = recorded.get(name, []), files.get(name, [])
        lines += unified_diff(before, after, f"recorded {name}", f"now {name}", lineterm="", n=1)
    return "\n".join(lines)


class Recording:
    """The recorded files of one area's stories."""

    def __init__(self, area: str) -> None:
        self._path = RECORDED / f"{area}.json"

    def read(self) -> dict[str, Files]:
        """By story."""
        return json.loads(self._path.read_text("utf-8")) if self._path.exists() else {}

    def write(self, story: str, files: Files) -> None:
        """Record a story's files."""
        self._save({**self.read(), story: files})

    def keep_only(self, stories: Container[str]) -> None:
        """Remove the stories that do not exist any more; a name may have a parameter behind it."""
        self._save({name: files for name, files in self.read().items() if name.partition("[")[0] in stories})

    def _save(self, stories: dict[str, Files]) -> None:
        self._path.parent.mkdir(exist_ok=True)
        text = json.dumps(dict(sorted(stories.items())), indent=1, ensure_ascii=False)
        self._path.write_text(f"{text}\n", "utf-8")
