"""A person who saves a text file in every way in which editors and shells do, and what the file must contain then.

This module imports nothing of tacitd: it describes an editor's saves independently, as system calls.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

OURS = "- tacitd-"
"""The beginning of lines that are not the person's."""
LONGEST_PAUSE = 0.03
"""Seconds between two system calls of one save."""
Save = Callable[["Person", bytes], None]


class Person:
    """A person who edits one file. The buffer is the last saved text; other lines in the file are overwritten."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self.buffer = "# Notes\n\n## Facts\n\n- first\n\n## Other\n\n- other\n"
        path.write_text(self.buffer)
        self.count = 0

    def edit(self, way: str) -> None:
        """Add a line and save it. Before that, sometimes load the file."""
        self.count += 1
        if self.chance.random() < 0.5:
            self.load()
        line = f"- {way} {self.count}"
        place = self.buffer.index("\n\n## Other")
        if way in ADDING:
            self.buffer = self.buffer.rstrip("\n") + f"\n{line}\n"
            ADDING[way](self, f"{line}\n".encode())
            return
        self.buffer = f"{self.buffer[:place]}\n{line}{self.buffer[place:]}"
        WAYS[way](self, self.buffer.encode())

    def load(self) -> None:
        """Load the file if it is a newer version of the buffer: a person does not load a file that lacks their text."""
        try:
            found = self.path.read_text()
        except FileNotFoundError:
            return
        if own_lines(found) == own_lines(self.buffer):
            self.buffer = found

    def pause(self) -> None:
        """Pause between two system calls."""
        time.sleep(self.chance.uniform(0.0, LONGEST_PAUSE))


def own_lines(text: str) -> list[str]:
    """The lines of a text that the person wrote, without empty ones."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith(OURS)]


def truncate_and_write(person: Person, data: bytes) -> None:
    """VS Code, nano: in place."""
    person.path.write_bytes(data)


def truncate_and_pause(person: Person, data: bytes) -> None:
    """The same on a busy machine."""
    with person.path.open("wb", buffering=0) as file:
        person.pause()
        file.write(data)


def write_in_chunks(person: Person, data: bytes) -> None:
    """The same with a small buffer: pieces end in the middle of a line."""
    step = max(1, len(data) // 3)
    with person.path.open("wb", buffering=0) as file:
        for at in range(0, len(data), step):
            person.pause()
            file.write(data[at : at + step])


def rename_over(person: Person, data: bytes) -> None:
    """Most editors' atomic save."""
    new = person.path.with_name(f"{person.path.name}.new")
    new.write_bytes(data)
    person.pause()
    new.replace(person.path)


def rename_away(person: Person, data: bytes) -> None:
    """vim, backupcopy=no: the old file becomes the backup, a new one is written."""
    backup = person.path.with_name(f"{person.path.name}~")
    person.path.rename(backup)
    person.pause()
    person.path.write_bytes(data)
    backup.unlink()


def copy_and_truncate(person: Person, data: bytes) -> None:
    """vim, backupcopy=yes: a copy is the backup, the file is written in place."""
    backup = person.path.with_name(f"{person.path.name}~")
    shutil.copy2(person.path, backup)
    truncate_and_pause(person, data)
    backup.unlink()


def remove_and_create(person: Person, data: bytes) -> None:
    """`rm`, then a new file."""
    person.path.unlink()
    person.pause()
    person.path.write_bytes(data)


def exchange(person: Person, data: bytes) -> None:
    """renameat2(RENAME_EXCHANGE)."""
    new = person.path.with_name(f"{person.path.name}.swapped")
    new.write_bytes(data)
    person.pause()
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(new), os.fsencode(person.path)
    if library.renameat2(-100, names[0], -100, names[1], 2) != 0:
        new.replace(person.path)
        return
    new.unlink()


def write_by_shell(person: Person, data: bytes) -> None:
    """`cat > file`."""
    subprocess.run(["sh", "-c", 'cat > "$0"', str(person.path)], input=data, check=True)


def write_into_held(person: Person, data: bytes) -> None:
    """A descriptor that was opened some time before, truncated and written through."""
    with person.path.open("r+b", buffering=0) as file:
        person.pause()
        file.truncate(0)
        person.pause()
        file.write(data)


def append(person: Person, line: bytes) -> None:
    """`>>`."""
    with person.path.open("ab", buffering=0) as file:
        person.pause()
        file.write(line)


def add_by_sed(person: Person, line: bytes) -> None:
    """`sed -i`: reads the file, and renames a new one over it."""
    script = f"$a\\\n{line.decode().rstrip()}"
    subprocess.run(["sed", "-i", script, str(person.path)], check=True)


WAYS: dict[str, Save] = {
    "truncate-write": truncate_and_write,
    "truncate-pause": truncate_and_pause,
    "chunks": write_in_chunks,
    "rename-over": rename_over,
    "rename-away": rename_away,
    "copy-truncate": copy_and_truncate,
    "remove-create": remove_and_create,
    "exchange": exchange,
    "shell": write_by_shell,
    "held": write_into_held,
}
"""By name: saves that write the whole buffer."""
ADDING: dict[str, Save] = {"append": append, "sed": add_by_sed}
"""By name: saves that append a line to the file."""
