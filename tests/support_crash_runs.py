"""Runs a story again with the crashes of support_crashes.py, compares its final files with the recorded ones, and names the
differences that are right."""

from __future__ import annotations

import ast
import json
import math
import os
import re
import shutil
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from support_crash_plan import OPEN
from support_crashes import SESSIONS, STEPS, CrashingWorld
from support_recording import Files, compare_files, record_files
from support_world import make_world
from tacitd.files.atomic import TEMP_PREFIX, sweep_temporary
from tacitd.files.disk import Disk
from tacitd.testing import World

_VARYING = re.compile(r"(?<=^s\d:)\d+$|(?<=[+-]\dd) \d{2}:\d{2}(:\d{2})?(?=\})|(?<=\{)[+-]\d+s(?=\})")
"""Numbers of lines that were read, times of a day, and seconds since the beginning."""
_SECONDS = re.compile(r"\{[+-]\d+s\}")


class _Claims(ast.NodeTransformer):
    """Counts claims that do not hold, instead of ending there: the person goes on."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        line = ast.parse(f"FAILED.append({node.lineno})").body[0]
        made = ast.If(ast.UnaryOp(ast.Not(), node.test), [line], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))


def load_stories(path: Path) -> dict[str, Any]:
    """The module of stories, with the lines of claims that did not hold in `FAILED`."""
    tree = _Claims().visit(ast.parse(path.read_text("utf-8")))
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path), "FAILED": []}
    exec(compile(tree, str(path), "exec"), names)
    return names


@dataclass(frozen=True, slots=True)
class Crashed:
    """What a run with a crash left."""

    steps: str
    """Where it ended: the steps and their processes; "" if none was reached."""
    differences: str
    """What differs from the recorded files; "" if nothing does."""
    why: str = ""
    """The reason for which the difference is right; a key of `RIGHT`."""
    claims: Sequence[int] = ()
    """The lines of claims that did not hold."""
    count: int = 0
    """At how many steps it ended."""


RIGHT = {
    "temporary": "a kill leaves a temporary file, which a write in its directory removes after a day",
    "torn": "a kill leaves a part of a line in a log; the next one begins a line of its own, and readers leave the part out, or put it aside",
    "recovered": "the ledger comes first; a session whose profile was not written is put there from it, and says so",
    "time": "only times of a day differ, or how many lines were read: a start looks at once, and otherwise it is later",
    "when": "half an hour after a start, or after a failure of the disk half an hour later, the files are those of a run without it then",
    "summary": "a disk that failed has no room for the call to the model or for the summary of what is known; the next prompt makes both",
    "rescued": "work whose calls were lost twice is not paid a third time: `rescue` lists it",
    "torn twice": "the id of a lesson's damaged line counts, because a person may repair it, but not that of a torn last line (SPEC E-22)",
    "empty": "the counts of no session are an empty file, or none; a session of the tutor whose start was not written is an empty file",
}
"""The differences that are right, each with its reason."""
JOINT = ("rescued", "torn twice")
"""What is right after several crashes says nothing of each one: the story is run again with each of them alone."""
SUMMARY, TURNS = "/tmp/known-facts-summary.md", "/.processed_turns"
_MARK = "(recovered from ledger)"
LEDGER_BARS = 9
"""The bars of a whole row of the ledger, which has eight columns (SPEC L-04)."""


class Story:
    """A story that can be run several times."""

    def __init__(
        self, names: Mapping[str, Any], name: str, given: Mapping[str, Any], tmp: Path, recorded: Files
    ) -> None:
        """`names`: of its module, from `load_stories`. `given`: what it takes but `begin`."""
        self._tell, self._failed = names[name], names["FAILED"]
        self._given, self._tmp, self._recorded = given, tmp, recorded
        self._open = OPEN.get(name, ("", "(?!)", ""))
        self._count = 0
        self._settled: Files | None = None

    def run(self, crash_at: Collection[int], error: int = 0) -> Crashed:
        """Run it with a crash at these steps, or with this error there, and compare its files with the recorded ones."""
        with STEPS.everywhere(), self._told(crash_at, error) as (world, broke):
            steps = ", ".join(f"{step} ({process})" for step, process in STEPS.crashed)
            count, claims, STEPS.crash_at = len(STEPS.crashed), tuple(self._failed), ()
            differences = broke + compare_files(self._recorded, record_files(world))
            why = self._find_reason(world, broke) if differences else ""
            if why and why not in JOINT and self._leave_out_open(found := record_files(world)) != found:
                why = f"open: {self._open[0]}"
        return Crashed(steps, differences, why, claims, count)

    @contextmanager
    def _told(self, crash_at: Collection[int] = (), error: int = 0) -> Iterator[tuple[CrashingWorld, str]]:
        """The world after the story, and with what error it ended."""
        self._count += 1
        tmp, worlds, broke = self._tmp / f"run {self._count}", list[CrashingWorld](), ""
        tmp.mkdir()

        def begin(*arguments: Any, **named: Any) -> World:
            worlds.append(cast("CrashingWorld", make_world(tmp, *arguments, kind=CrashingWorld, **named)))
            return worlds[0]

        self._failed.clear()
        STEPS.reset(crash_at, error)
        own = {"begin": begin} | ({"tmp_path": tmp} if "tmp_path" in self._given else {})
        try:
            self._tell(**{**self._given, **own})
        except Exception as problem:  # noqa: BLE001  it is reported as a difference
            broke = f"the story ended: {''.join(traceback.format_exception(problem)[-6:])}\n"
        yield worlds[0], broke
        if worlds[0].runs:
            worlds[0].stop()
        shutil.rmtree(tmp, ignore_errors=True)

    def _find_reason(self, world: World, broke: str) -> str:
        """The key of `RIGHT` for what differs; "" if nothing makes it right. `broke`: with what error the story ended."""
        if broke:
            return ""
        for path in {path.parent for path in world.home.rglob(f"{TEMP_PREFIX}*")}:
            sweep_temporary(path, math.inf, Disk())
        recorded, found = self._recorded, self._leave_out_open(record_files(world))
        if recorded == found:
            return "temporary"
        if recorded == (found := _leave_out(found, _is_torn)):
            return "torn"
        if recorded == (found := _leave_out(found, lambda name, line: line == _MARK)):
            return "recovered"
        if _blank(recorded) == _blank(found):
            return "time"
        if _blank(_leave_out_empty(recorded)) == _blank(_leave_out_empty(found)):
            return "empty"
        if STEPS.error and _leave_out_summary(_blank(recorded)) == _leave_out_summary(_blank(found)):
            return "summary"
        if len(STEPS.crashed) > 1 and "answer was lost" in world.run("rescue", "--json").out:
            return "rescued"
        logs = (lines for name, lines in record_files(world).items() if name.endswith("/lessons.jsonl"))
        torn = max((sum(_is_torn(".jsonl", line) for line in lines) for lines in logs), default=0)
        if torn > 1 and len(STEPS.crashed) > 1:
            return "torn twice"
        anew = not STEPS.error  # after a failure of the disk nobody helps
        settled = self._leave_out_open(_settle(world, anew))
        if self._settled is None:
            with self._told() as (whole, _):
                self._settled = _settle(whole, anew)
        return "when" if self._settled == settled else ""

    def _leave_out_open(self, files: Files) -> Files:
        """The files without what is known to differ in this story."""
        _, line, without = self._open
        return {
            name: [new for one in lines if (new := re.sub(line, without, one)) or not one]
            for name, lines in files.items()
        }


def _settle(world: World, anew: bool) -> Files:
    """The files half an hour after a start, or half an hour later, without what may differ."""
    if world.runs and anew:
        world.stop()
    if not world.runs:
        world.start()
    for _ in range(6):
        world.wait(300)
    return _blank(_leave_out(record_files(world), lambda name, line: line == _MARK or _is_torn(name, line)))


def _is_torn(name: str, line: str) -> bool:
    """Whether it is a part of a line of a log, or of a row of the learner's ledger."""
    if name.endswith("-ledger.md") and line.startswith("|"):
        return not line.endswith("|") or line.count("|") < LEDGER_BARS
    try:
        return bool(name.endswith(".jsonl") and line and json.loads(_SECONDS.sub("0", line)) is None)
    except ValueError:
        return True


def _leave_out(files: Files, is_out: Callable[[str, str], bool]) -> Files:
    left = {name: [line for line in lines if not is_out(name, line)] for name, lines in files.items()}
    return {
        name: lines for name, lines in left.items() if any(lines) or not name.endswith(".quarantine.jsonl")
    }


def _leave_out_summary(files: Files) -> Files:
    return {name: lines for name, lines in files.items() if not name.endswith(SUMMARY)}


def _leave_out_empty(files: Files) -> Files:
    lines_of = {name: [*filter(None, lines)] if SESSIONS in name else lines for name, lines in files.items()}
    return {name: lines for name, lines in lines_of.items() if not name.endswith(TURNS) or any(lines)}


def _blank(files: Files) -> Files:
    return {name: [_VARYING.sub("", line) for line in lines] for name, lines in files.items()}


def check_crashes(
    chosen: Sequence[tuple[Collection[int], int]],
    path: Path,
    name: str,
    given: Mapping[str, Any],
    tmp: Path,
    recorded: Files,
) -> list[Crashed]:
    """Run a story that passed again for each of these groups of steps, which fail with the error beside them, or are crashes. Raises
    AssertionError with what differs."""
    if not chosen:
        return []
    made, wrong = list[Crashed](), list[str]()
    told = Story(load_stories(path), name, given, tmp, recorded)
    left = [*chosen]
    while left:
        at, error = left.pop()
        one = told.run(at, error)
        is_wrong = bool(one.differences and not one.why)
        if len(at) > 1 and not is_wrong and (one.why in JOINT or one.count < len(at)):
            left += [([number], error) for number in at]
            continue
        made.append(one)
        if is_wrong or one.count < len(at):
            how = " ".join(f"--{'fail' if error else 'crash'}-at {number}" for number in sorted(at))
            how += f", {os.strerror(error)}" if error else ""
            how += f", {one.steps or 'not reached'}, claims of lines {list(one.claims)}"
            wrong.append(f"{how}:\n{one.differences}")
    assert not wrong, "other final files than without it:\n" + "\n".join(wrong)
    return made
