"""A year of simulated days: sightings, clock jumps, restarts and crashes, against the closed formula."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_examples import PATIENT
from support_profile import DAY, Box
from tacitd.clock import parse_utc, utc_millis
from tacitd.events import Due
from tacitd.handler import Done
from tacitd.testing import Crash, FaultyDisk
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.handler import ProfileHandler

EDITOR, ROLE, TONE = "tools.editor", "work.role", "codePreferences.tone"
FINDINGS = {
    EDITOR: {"tools": {"editor": "vi"}},
    ROLE: {"work": {"role": "dev"}},
    TONE: {"codePreferences": {"tone": "direct"}},
}
EDGE = 30 * math.log2(10)

EXAMPLES = int(os.environ.get("TACITD_YEARS", "1"))
"""The number of simulated years. A full run has 200; the default is 1."""


class Model:
    """The closed formula: a confidence is a function of the times of its sightings, and of nothing else.

    A time is what the clock showed, but not before the last decay, which is never undone.
    """

    def __init__(self) -> None:
        self.said: dict[str, list[float]] = {}
        self.floor = 0.0
        """The time of the last decay."""

    def say(self, path: str, at: float) -> None:
        moments = self.said.setdefault(path, [])
        moments.append(max([at, self.floor, *moments]))

    def confidence(self, path: str, at: float) -> float:
        """Decay between the sightings, add 0.3 at each, never over 1."""
        moments = self.said[path]
        value, since = 1.0, moments[0]
        for moment in moments[1:]:
            value, since = min(1.0, value * 2 ** (-(moment - since) / (30 * DAY)) + 0.3), moment
        return float(value * 2 ** (-max(0.0, max(at, self.floor) - since) / (30 * DAY)))


step = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(sorted(FINDINGS))),
    st.tuples(st.just("pass"), st.floats(0.01, 30.0)),
    st.tuples(st.just("jump"), st.sampled_from([-7200.0, -1.0, 1.0, 7200.0, -0.9 * DAY])),
    st.tuples(st.just("wrong"), st.sampled_from([-60 * 365 * DAY, 74 * 365 * DAY])),
    st.tuples(st.just("restart"), st.just(0)),
    st.tuples(st.just("crash"), st.integers(1, 60)),
)


class Year:
    """A daemon that runs for a year, with a decay job every hour."""

    def __init__(self, root: Path) -> None:
        self.box = Box(root)
        self.model = Model()
        self.box.start()
        self.ids = 0
        self.wrong = False
        """Whether the clock is in another century now."""

    def play(self, steps: Sequence[tuple[str, object]]) -> None:
        for what, value in steps:
            getattr(self, f"_{what}")(value)
            self.look()
            self.check()
        while self.box.clock.mono < 1000.0 + 365 * DAY:
            self._pass(20.0)

    def _pass(self, days: object) -> None:
        """Let hours pass. The job runs daily, and hourly while a value is near its removal."""
        assert isinstance(days, float)
        hours = round(days * 24)
        for hour in range(hours):
            self.box.clock.advance(3600.0)
            near = any(0.09 < self.model.confidence(path, self.now) < 0.11 for path in self.model.said)
            if near or hour % 24 == 0 or hour == hours - 1:
                self.look()
                self.check()

    def _jump(self, seconds: object) -> None:
        assert isinstance(seconds, float)
        self.box.clock.jump(seconds)

    def _wrong(self, seconds: object) -> None:
        """Set the clock to 1970 or 2100 for a while; a finding comes in meanwhile."""
        assert isinstance(seconds, float)
        known = self.now
        self.box.clock.jump(seconds)
        self.wrong = True
        self.look()
        self.ids += 1
        assert isinstance(self.box.told(f"t{self.ids}", FINDINGS[ROLE]), Done)
        self.model.say(ROLE, known)
        self.box.clock.jump(-seconds)
        self.wrong = False

    def _restart(self, _: object) -> None:
        self.box.start()

    def _crash(self, at: object) -> None:
        """Crash while a finding is merged; the engine delivers it again."""
        assert isinstance(at, int)
        self.ids += 1
        self.box.handler._store.disk = FaultyDisk(crash_at=at, torn=True)
        moment = self.now
        with suppress(Crash):
            self.box.told(f"t{self.ids}", FINDINGS[ROLE])
        self.box.start()
        assert isinstance(self.box.told(f"t{self.ids}", FINDINGS[ROLE]), Done)
        self.model.say(ROLE, moment)

    def _say(self, path: object) -> None:
        assert isinstance(path, str)
        self.ids += 1
        for _ in range(2):  # delivered twice
            assert isinstance(self.box.told(f"t{self.ids}", FINDINGS[path]), Done)
        self.model.say(path, self.now)

    @property
    def now(self) -> float:
        """The clock's time in whole milliseconds."""
        return parse_utc(utc_millis(self.box.clock.now())) or 0.0

    def look(self) -> None:
        handler: ProfileHandler = self.box.handler
        if not self.wrong:  # a transcript with this time confirms the clock
            handler._newest = self.now
        self.box.play(Due("fade"))
        self.model.floor = metas.last_decay(self.box.store.read_metadata()) or 0.0

    def check(self) -> None:
        """Every confidence equals the formula; no path is removed before 99.66 days, and none is left after 100."""
        now, meta = max(self.now, self.model.floor), self.box.store.read_metadata()
        found = {one["path"]: one for one in meta["preferences"]}
        standing = metas.read_confidences(meta)
        for path in list(self.model.said):
            expected = self.model.confidence(path, now)
            if path in found:
                assert math.isclose(standing[path].confidence_at(now), expected, rel_tol=1e-9), path
                assert now - self.model.said[path][-1] < 100 * DAY
            else:
                assert expected < 0.1 * (1 + 1e-9), path
                assert now - self.model.said[path][0] >= EDGE * DAY - 1.0
                assert path not in self.box.store.read_profile()
                del self.model.said[path]
        assert set(found) == set(self.model.said)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@given(st.lists(step, min_size=5, max_size=40))
@settings(PATIENT, max_examples=EXAMPLES, derandomize=EXAMPLES < 50)
def test_a_year(steps: list[tuple[str, object]]) -> None:
    """SPEC P-13, RELIABILITY row 12: every confidence equals the closed formula to 1e-9."""
    root = Path(tempfile.mkdtemp())
    try:
        year = Year(root)
        year.play([("say", EDITOR), *steps, ("say", TONE)])
    finally:
        shutil.rmtree(root)
