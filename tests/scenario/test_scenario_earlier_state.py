"""A state directory and a home that an earlier version left, taken over by this one.

`fixtures/state/schema-1.tar.gz` was recorded with the version before the tree got its names (schema 1, its daemon killed at
the end), below ROOT, since transcripts, logs and the names of directories contain the path. In it:
- `app` learned amber-1, birch-2 and cedar-3. A person deleted birch-2, reworded cedar-3 and added a paragraph.
- dogwood-4 is extracted and waits for a synthesis; elm-5 was typed when no daemon ran; parked-fact was given up.
- `excluded` is excluded, and larch-9 was typed there.
- The profile learned a role, which the person changed to midwife, and an editor, which the person removed.
- Lesson 001 is a person's, lesson 002 was marked wrong.
- Four answers were paid for, $0.05 each.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_daemon import ECHO_FACTS, ECHO_LINES, EXTRACTION, Daemon, append, line, prompt_record

pytestmark = pytest.mark.scenario

RECORDED = Path(__file__).parents[1] / "fixtures" / "state" / "schema-1.tar.gz"
ROOT = Path("/tmp/tacitd-recorded-1")
PRICE, SPENT = 0.05, 0.20
NURSE = {
    "match": f"(?s){EXTRACTION}.*as a nurse",
    "reply": 'PROFILE: {"work": {"role": "nurse", "focusAreas": ["health care"]}}',
}
"""An answer that finds the role that was learned before, and a field of work."""
OF_A_PERSON = "Prefers cedar-3, in German texts only"


@pytest.fixture
def earlier() -> Iterator[Daemon]:
    """The recorded home at its place, with its spend dated today; not started. One process at a time."""
    with ROOT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(ROOT, ignore_errors=True)
        ROOT.mkdir(mode=0o700)
        rules = [{**rule, "usd": PRICE} for rule in (NURSE, ECHO_FACTS, ECHO_LINES)]
        daemon = Daemon(ROOT, rules)
        with tarfile.open(RECORDED) as tar:
            # Before 3.11.4, Python has no filters.
            tar.extraction_filter = getattr(tarfile, "tar_filter", None)
            tar.extractall(ROOT)
        daemon.state.chmod(0o700)
        date_spend_today(daemon.state / "budget.jsonl")
        yield daemon
        daemon.finish()
        shutil.rmtree(ROOT)


def date_spend_today(log: Path) -> None:
    """Move the records of the budget so that the last one is a minute old."""
    records = [json.loads(text) for text in log.read_text(encoding="utf-8").splitlines()]
    later = time.time() - 60 - records[-1]["at"]
    moved = [{**record, "at": record["at"] + later} for record in records]
    log.write_text("".join(json.dumps(record) + "\n" for record in moved), encoding="utf-8")


def test_nothing_is_learned_or_paid_for_twice(earlier: Daemon) -> None:
    """What was handled is not sent again; what waited and what was not read yet is learned once."""
    earlier.start()
    assert earlier.sync() == []
    assert earlier.put_to_model() == ["Prefers elm-5"]
    assert earlier.synthesize() == []  # or it was made already: the recorded session ended long ago
    assert earlier.status()["budget"]["usd_today"] == pytest.approx(SPENT + 2 * PRICE)
    assert earlier.learned == ["Prefers amber-1", OF_A_PERSON, "Prefers dogwood-4", "Prefers elm-5"]
    assert "A paragraph of the person's own." in (earlier.project / "LEARNED.md").read_text(encoding="utf-8")
    why = earlier.cli("why", "Prefers amber-1", cwd=earlier.project).stdout
    assert why.count("Prefers amber-1") == 2 and "session s1" in why, why
    calls = len(earlier.claude.calls())
    assert calls == 2
    earlier.restart()
    assert earlier.synthesize() == [] and len(earlier.claude.calls()) == calls
    (dead,) = json.loads(earlier.cli("rescue", "--json").stdout)
    assert dead["text"] == "Prefers parked-fact" and earlier.status()["dead_letters"] == 1


def test_nothing_comes_back(earlier: Daemon) -> None:
    """A deleted line, a removed value, a lesson marked wrong, an excluded project: the same after the change of version."""
    earlier.start()
    earlier.sync()
    earlier.type_("s3", "Prefers birch-2")
    earlier.synthesize()
    assert "Prefers birch-2" not in earlier.learned
    excluded = earlier.home / "work" / "excluded"
    earlier.type_("x1", "Prefers maple-8", excluded)
    assert earlier.sync() == [] and not [text for text in earlier.put_to_model() if "maple" in text]
    assert not (excluded / "LEARNED.md").exists()
    earlier.type_("s4", "I work as a nurse, in health care")
    earlier.sync()
    profile = json.loads((earlier.home / ".claude/user-memory/profile.json").read_text(encoding="utf-8"))
    assert profile["work"] == {"role": "midwife", "focusAreas": ["health care"]} and "tools" not in profile
    loaded = earlier.cli("lesson", "load").stdout
    assert "drop columns" in loaded and "emulator" not in loaded


def test_the_cap_counts_what_was_spent_before(earlier: Daemon) -> None:
    """With one answer left under the cap of the day, one is paid for, and what follows waits."""
    earlier.start(BUDGET__USD_PER_DAY=str(SPENT + PRICE))
    earlier.sync()
    assert earlier.put_to_model() == ["Prefers elm-5"]
    append(earlier.transcript("s4"), line(prompt_record("s4", "Prefers fir-6", str(earlier.project))))
    parked = earlier.sync()
    assert parked and all("budget" in one["reason"] for one in parked), parked
    assert len(earlier.claude.calls()) == 1
