"""A person saves in many ways while tacitd writes into the same files: real processes, real files.

RELIABILITY row 11, shortened: 300 edits instead of 10,000. `TACITD_EDITS=10000` is a full run.
"""

from __future__ import annotations

import json
import os
import queue
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support_editors import ADDING, OURS, WAYS, Person, own_lines

pytestmark = pytest.mark.scenario

EDITS = int(os.environ.get("TACITD_EDITS", "300"))
SEED = int(os.environ.get("TACITD_SEED", "11"))
EACH = 5
"""Edits of one file."""
AT_ONCE = 120
"""Files between two checks of the results; fewer if fewer edits are asked for."""
WRITER = Path(__file__).parent / "editing_writer.py"


@dataclass
class Found:
    """The results of the edits."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


class Writer:
    """The writer's process, for any number of threads."""

    def __init__(self, state: Path, waiting: str) -> None:
        command = [sys.executable, str(WRITER), str(state), waiting]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.begun: dict[str, threading.Event] = {}
        self.settled: queue.Queue[dict[str, Any]] = queue.Queue()
        self._mutex = threading.Lock()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def put(self, path: Path, line: str) -> None:
        """Let the writer put a line into a file. Returns when it begins."""
        self.begun[line] = threading.Event()
        self._tell(f"put {path} {line}")
        assert self.begun[line].wait(60), f"{line} was never begun"

    def settle(self) -> dict[str, Any]:
        """Wait until everything is written and checked, and return the writer's answer."""
        self._tell("settle")
        return self.settled.get(timeout=240)

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self._reader.join()
        self.process.stdout.close()

    def _tell(self, command: str) -> None:
        assert self.process.stdin is not None
        with self._mutex:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            said = json.loads(text)
            if "begun" in said:
                self.begun[said["begun"]].set()
            else:
                self.settled.put(said)


def edit_all(people: list[Person], writer: Writer, chance: random.Random) -> None:
    """Save each file several times, each time while the writer puts a line into it."""
    ways = [*WAYS, *ADDING]
    planned = [(p, [(chance.choice(ways), chance.uniform(0.0, 0.03)) for _ in range(EACH)]) for p in people]

    def work(some: list[tuple[Person, list[tuple[str, float]]]]) -> None:
        for person, saves in some:
            for number, (way, offset) in enumerate(saves):
                writer.put(person.path, f"tacitd-{person.path.stem}-{number}")
                time.sleep(offset)
                person.edit(way)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, planned[n::4]) for n in range(4)]:
            done.result()


def judge(person: Person, copies: list[Path], found: Found) -> None:
    """Compare a file, and the copies that tacitd names beside it, with what was saved last."""
    text, wanted = person.path.read_text(), own_lines(person.buffer)
    kept = own_lines(text)
    copied = [copy.read_text() for copy in copies]
    beside = [line for one in copied for line in own_lines(one)]
    found.counts["edits"] += person.count
    found.counts["copies"] += len(copies)
    found.counts["lines of ours in the file"] += text.count(OURS)
    found.counts["lines of ours"] += EACH
    missing = [line for line in wanted if line not in kept and line not in beside]
    # `>>` onto a file that was swapped in the middle of a save, and so has no last newline: the text is at the end of that line. Only
    # a writer that does not wait for the rest of the save does so (`Editors.check_at_rest`).
    glued = [line for line in missing if any(line in one for one in (text, *copied))]
    found.counts["glued"] += len(glued)
    found.lost += [f"{person.path.name}: {line}" for line in missing if line not in glued]
    if not copies and not glued and sorted(kept) != sorted(wanted):
        found.damaged.append(f"{person.path.name}: {kept} instead of {wanted}")


@pytest.mark.soak
@pytest.mark.timeout(300 + EDITS)
@pytest.mark.parametrize(
    ("waiting", "edits"), [("rushes", EDITS * 3 // 4), ("waits", EDITS - EDITS * 3 // 4)]
)
def test_edits_while_tacitd_writes_lose_nothing(
    tmp_path: Path, waiting: str, edits: int, record_property: Callable[[str, object], None]
) -> None:
    """RELIABILITY 11, factor 1/33: every line of the last save is in the file, once, or in a copy that is named."""
    chance, found = random.Random(SEED), Found()
    root = tmp_path / "project"
    writer = Writer(tmp_path / "state", waiting)
    try:
        number = 0
        while found.counts["edits"] < edits:
            folder = root / str(number)
            folder.mkdir(parents=True)
            paths = [folder / f"{number}-{n}.md" for n in range(min(AT_ONCE, edits // EACH))]
            people = [Person(path, random.Random(chance.random())) for path in paths]
            edit_all(people, writer, chance)
            said = writer.settle()
            for person in people:
                copies = [Path(copy) for copy, target in said["copies"].items() if target == str(person.path)]
                judge(person, copies, found)
            number += 1
    finally:
        writer.close()
    count = found.counts
    record_property(
        "reached",
        f"{waiting}: {count['edits']} edits, {len(found.lost)} lines lost, {count['copies']} copies beside",
    )
    assert not found.lost, f"{len(found.lost)} lost: {found.lost[:5]}"
    assert not found.damaged, f"{len(found.damaged)} damaged: {found.damaged[:3]}"
    assert found.counts["edits"] >= edits and found.counts["lines of ours in the file"] > 0
    assert waiting == "rushes" or not found.counts["glued"]
