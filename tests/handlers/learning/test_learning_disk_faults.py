"""RELIABILITY 3 and 16: a real engine with the learning handler and the real budget, on a disk that fails at each change
in turn, with kills in between.

A full run makes 1,000 injections (`TACITD_EXAMPLES=1`); by default every fiftieth of them is made.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support_daemon import ECHO_FACTS, EXTRACTION, SYNTHESIS, bullets, messages, raw_files
from support_disk import DiskFaults
from support_engine import Scene, Scripted
from support_heard import list_facts, write_heard, write_proposals
from support_learning import lines
from tacitd.errors import TacitdError
from tacitd.events import Due, Project
from tacitd.handler import Plugin
from tacitd.methods import build_methods
from tacitd.model.claude import ClaudeModel
from tacitd.model.process import FinishedProcess
from tacitd.testing import Crash
from tacitd.work.rescue import list_rescued
from tacitd_handlers.learning import make_plugin as learning_slice

INJECTIONS = 1000
FACTOR = float(os.environ.get("TACITD_EXAMPLES") or 0.02)
KNOWN = (634,)
"""Injections that once failed. 634: on a full disk, facts that cannot be put aside kept the daemon busy without a pause."""
CODES = (errno.ENOSPC, errno.EIO, errno.EROFS)
WORDS = (
    "Prefers pnpm to npm",
    "Prefers tabs in Makefiles",
    "Prefers short commit subjects",
    "Prefers dataclasses without inheritance",
    "Prefers integration tests over mocks",
    "Prefers German error messages",
    "Prefers Postgres for every service",
)
"""What is typed. Two lines that differ in a number only would be taken for an old and a new value of the same."""
CHANGES_LIMIT = 70
"""More changes of the disk than the armed part of one scenario makes."""
LONGEST_PAUSE = 6 * 3600.0 + 60.0
"""Seconds: after so long everything parked was tried again."""


class Client:
    """Claude Code's client: it returns each message as a fact and each fact as a line, and counts the paid calls."""

    def __init__(self, faults: DiskFaults) -> None:
        self.paid: Counter[str] = Counter()
        """By prompt, the children that were started with it."""
        self.lines: Counter[str] = Counter()
        """The same by fact, for stage 2."""
        self.kill_at = 0
        """The daemon is killed while the child with this number runs; 0: never."""
        self.kill_in = ""
        """The daemon is killed during each call whose prompt has these words; "": never."""
        self.calls = 0
        self._faults = faults

    def run(self, argv: list[str], *, stdin: bytes, **_: Any) -> FinishedProcess:
        """One child, from start to end."""
        if argv[1:] == ["--help"]:
            return FinishedProcess(0, b"", b"")
        self.calls += 1
        prompt = stdin.decode()
        reply = "NONE"
        if EXTRACTION in prompt:
            self.paid.update(messages(prompt))
            found = re.findall(str(ECHO_FACTS["each"]), prompt, re.DOTALL)
            reply = write_heard("\n".join(found) or "NONE", prompt)
        elif SYNTHESIS in prompt:
            facts = [fact for fact in list_facts(prompt).values() if fact.startswith("Prefers ")]
            self.lines.update(facts)
            reply = write_proposals(lines(*facts), prompt) or "NONE"
        if self.calls == self.kill_at or (self.kill_in and self.kill_in in prompt):
            self._faults.dead = True
            raise Crash("killed during a call")
        answer = {"type": "result", "subtype": "success", "is_error": False, "result": reply}
        answer |= {"total_cost_usd": 0.001, "session_id": "own"}
        return FinishedProcess(0, json.dumps(answer).encode(), b"")


class World(Scene):
    """A scene with the learning handler, and the user's prompts."""

    def __init__(self, tmp: Path, faults: DiskFaults) -> None:
        self.faults, self.client = faults, Client(faults)
        self.typed_words: list[str] = []
        self.running = False
        program = tmp / "bin" / "claude"
        program.parent.mkdir(parents=True)
        program.write_text("")
        program.chmod(0o755)

        def model(config: Any, budget: Any) -> ClaudeModel:
            return ClaudeModel(
                config.claude,
                budget,
                clock=self.clock,
                environ={"PATH": str(program.parent), "HOME": str(tmp)},
                work=tmp / "state" / "model" / "work",
                pause=lambda _: False,
                runner=self.client.run,
            )

        super().__init__(
            tmp, Scripted(), model=model, BUDGET__CALLS_PER_MINUTE="1000", BUDGET__CALLS_PER_DAY="5000"
        )
        self.running = True

    def _slice(self, number: int, handler: Scripted) -> Plugin:
        return learning_slice()

    def say(self, session: str, words: str) -> None:
        self.typed_words.append(words)
        self.type(session, words)

    def live(self, *waits: float) -> None:
        """Run the daemon with this much time between its checks. Returns when it was killed."""
        with suppress(Crash):
            for seconds in waits:
                self.settle(seconds)
                self.sync()
                self.post(Due("synthesize", Project(self.root, git=True)), only="learning")
                self.settle(1)

    def again(self) -> None:
        """Kill the daemon and start it again. It does not run if the disk fails during the start."""
        if self.running:
            self.kill()
        self.faults.dead = False
        self.running = False
        try:
            self.start(Scripted())
        except (OSError, TacitdError, Crash):
            self.app.lock.release()
        else:
            self.running = True

    @property
    def learned(self) -> list[str]:
        return bullets(self.root / "LEARNED.md")

    def dead_letters(self) -> list[dict[str, Any]]:
        return [one for one in self.rescued() if one["handler"] == "learning"]

    def rescued(self) -> list[dict[str, Any]]:
        """The prompts that were rejected."""
        return list_rescued(self.app.store.rows, self.clock.now())


def inject(tmp: Path, number: int) -> tuple[int, int]:
    """Run one scenario with faults. Return the number of prompts given up, and of armed changes that were reached."""
    dice = random.Random(number)
    faults = DiskFaults()
    with faults.everywhere():
        world = World(tmp, faults)
        world.say("s1", WORDS[0])
        world.live(0)
        world.say("s1", WORDS[1])
        world.say("s2", WORDS[2])
        world.client.kill_at = world.client.calls + dice.randint(1, 3) if dice.random() < 0.3 else 0
        reached = 0
        for round_ in range(3):
            at = 1 + (number * 7 + round_ * dice.randint(0, 40)) % CHANGES_LIMIT
            if dice.random() < 0.4:
                # The same change each time, so that work which is lost twice is given up.
                at = 1 + number % CHANGES_LIMIT
            faults.arm(at, dice.choice(CODES), lasting=dice.random() < 0.6, part=dice.choice((0, 0.5, 1)))
            world.live(0, *dice.choice([(), (60,), (600, 600)]))
            reached += faults.count >= at
            if dice.random() < 0.3:
                faults.mend()
                world.live(120)
                world.say("s2", WORDS[3 + round_])
            world.again()
            if not world.running:
                faults.mend()
                world.again()
        faults.mend()
        world.client.kill_at = 0
        if not world.running:
            world.again()
        world.live(LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE)
        check(world)
        letters = len(world.dead_letters())
        world.kill()
    return letters, reached


def check(world: World) -> None:
    """Check that nothing is lost or repeated, and that only prompts that were paid for twice are given up."""
    paid = world.client.paid
    lines, kept = (
        Counter(world.learned),
        {str(one["text"]) for one in world.rescued()},
    )
    aside = "".join(path.read_text() for path in (world.root / "tmp").glob("learning-raw*") if path.is_file())
    for words in world.typed_words:
        assert lines[words] == 1 or words in kept or words in aside, f"lost: {words}"
        assert lines[words] <= 1, f"repeated: {words}"
        assert paid[words] <= 2, f"paid for {paid[words]} times: {words}"
        assert words not in kept or paid[words] == 2, f"given up, paid for {paid[words]} times: {words}"
        assert words not in aside or world.client.lines[words] == 2, f"facts given up wrongly: {words}"
        assert world.client.lines[words] <= 2, f"stage 2 paid for {world.client.lines[words]} times: {words}"
    assert set(lines) <= set(world.typed_words), "invented"
    assert not world.parked(), world.parked()


@pytest.mark.timeout(3600)
def test_a_disk_that_fails_at_every_change_loses_nothing_and_gives_nothing_up(tmp_path: Path) -> None:
    """RELIABILITY 3, 16: 0 lost, 0 repeated, 0 given up after fewer than two calls."""
    reached = 0
    step = max(1, round(1 / FACTOR)) if FACTOR < 1 else 1
    for number in sorted({*KNOWN, *range(0, round(INJECTIONS * max(1.0, FACTOR)), step)}):
        place = tmp_path / str(number)
        place.mkdir()
        try:
            reached += inject(place, number)[1]
        except AssertionError as error:
            raise AssertionError(f"injection {number}: {error}") from error
    assert reached > 0


def test_facts_that_others_join_are_paid_for_twice_at_most(tmp_path: Path) -> None:
    """RELIABILITY 16: the daemon is killed during each call of stage 2, with a new fact each time. Facts that were paid for
    twice are put aside in their own file, and facts that joined later are learned.
    """
    faults = DiskFaults()
    with faults.everywhere():
        world = World(tmp_path, faults)
        world.client.kill_in = SYNTHESIS
        for number in range(4):
            world.say("s1", WORDS[number])
            world.live(0)
            world.again()
        assert max(world.client.lines.values()) == 2
        world.client.kill_in = ""
        world.live(LONGEST_PAUSE, LONGEST_PAUSE)
        check(world)
        assert WORDS[3] in world.learned and WORDS[0] not in world.learned
        put_aside = [one.what for id, one in world.app.degraded.items() if "learning.aside" in id]
        assert put_aside and "twice" in put_aside[0]
        build_methods(world.app)["retry"]({"all": True})
        world.live(0, 0)
        assert sorted(world.learned) == sorted(WORDS[:4]) and not raw_files(world.root)
        assert not any("learning.aside" in id for id in world.app.degraded)
        world.kill()


def test_an_answer_that_cannot_be_written_is_not_paid_for_again(tmp_path: Path) -> None:
    """RELIABILITY 3, 16: LEARNED.md cannot be written for a day, while new facts are extracted."""
    faults = DiskFaults()
    with faults.everywhere():
        world = World(tmp_path, faults)
        (world.root / "LEARNED.md").mkdir()
        for number in range(4):
            world.say("s1", WORDS[number])
            world.live(LONGEST_PAUSE)
        (world.root / "LEARNED.md").rmdir()
        world.live(LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE)
        check(world)
        assert len(world.learned) == 4
        world.kill()


def test_prompts_whose_every_call_is_killed_are_paid_for_twice_at_most(tmp_path: Path) -> None:
    """RELIABILITY 16: the daemon is killed during each call of stage 1, with a new prompt each time. Prompts that were paid
    for twice are given up until the user retries them; prompts that joined later are learned.
    """
    faults = DiskFaults()
    with faults.everywhere():
        world = World(tmp_path, faults)
        world.client.kill_in = EXTRACTION
        for number in range(4):
            world.say("s1", WORDS[number])
            world.live(0)
            world.again()
        assert max(world.client.paid.values()) == 2
        world.client.kill_in = ""
        world.live(LONGEST_PAUSE, LONGEST_PAUSE)
        check(world)
        kept = {str(one["text"]) for one in world.rescued()}
        assert WORDS[0] in kept and kept.isdisjoint(world.learned) and WORDS[3] in world.learned
        build_methods(world.app)["retry"]({"all": True})
        world.live(0, 0)
        assert sorted(world.learned) == sorted(WORDS[:4]) and world.rescued() == []
        world.kill()
