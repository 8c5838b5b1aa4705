"""What the first design left in a state directory: logs that the store replaced. They are named and left alone; only what a
person chose is read from them, into a new store (`person_choices`)."""

from __future__ import annotations

from pathlib import Path

FILES = (
    "projects.jsonl",
    "paused.jsonl",
    "dead.jsonl",
    "rescue.jsonl",
    "budget.jsonl",
    "history.jsonl",
    "history-archive.jsonl",
    "own-sessions.jsonl",
    "schema.json",
    "session-context.jsonl",
)
"""Files of the state directory."""
HANDLER_FILES = ("log.jsonl", "archive.jsonl", "handled.bin")
"""Files of each handler's directory."""


def list_left(state_dir: Path) -> list[Path]:
    """The files of the first design that are there. Raises nothing: a directory that cannot be read has none."""
    places = [state_dir / name for name in FILES]
    try:
        homes = sorted((state_dir / "handlers").iterdir())
    except OSError:
        homes = []
    places += [home / name for home in homes for name in HANDLER_FILES]
    return [path for path in places if path.is_file()]
