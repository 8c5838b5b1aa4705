"""The changelog: its format, its limits, and malformed lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_profile import DAY, NOW, Box
from tacitd.clock import utc_millis
from tacitd_handlers.profile import changelog

KEYS = ["timestamp", "session_id", "action", "source", "changes", "removed"]


def fill(path: Path, *lines: object) -> Path:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    path.write_text("".join(text + "\n" for text in texts))
    return path


def entry(age_days: float, name: str = "x", millis: bool = True) -> dict[str, object]:
    stamp = utc_millis(NOW - age_days * DAY)
    return {"timestamp": stamp if millis else stamp[:19] + "Z", "action": "update", "source": "mcp/tool", "changes": {},
            "n": name}  # fmt: skip


def prune(log: Path) -> list[object]:
    changelog.prune_changelog(log, NOW)
    return [one["n"] for one in changelog.read_entries(log, 10_000)]


def test_older_than_90_days_goes_and_exactly_90_stays(tmp_path: Path) -> None:
    """SPEC P-20, P-21: ages are compared as times, not as text."""
    log = fill(
        tmp_path / "c.jsonl", entry(90.001, "old"), entry(90, "edge"), entry(89.9, "young", millis=False)
    )
    assert prune(log) == ["edge", "young"]


def test_the_last_1000_stay_and_the_prune_logs_nothing(tmp_path: Path) -> None:
    """SPEC P-20: first by age, then the last 1,000. If nothing is removed, the file is not rewritten."""
    log = fill(tmp_path / "c.jsonl", entry(100, "old"), *(entry(1, str(n)) for n in range(1005)))
    assert prune(log) == [str(n) for n in range(5, 1005)]
    inode = log.stat().st_ino
    prune(log)
    assert log.stat().st_ino == inode


def test_garbage_is_put_aside(tmp_path: Path) -> None:
    """SPEC P-20: garbage lines, half a line at the end and one of 3 MB are quarantined; unknown actions stay."""
    long = "x" * (3 << 20)
    other = entry(1, "other") | {"action": "think"}
    log = fill(
        tmp_path / "c.jsonl", entry(1, "a"), "garbage", '{"half', long, "[1]", "", other, {"n": "untimed"}
    )
    with log.open("a") as out:
        out.write('{"timestamp": "2026')
    assert prune(log) == ["a", "other", "untimed"]
    aside = (tmp_path / changelog.QUARANTINE).read_text().splitlines()
    assert aside == ["garbage", '{"half', long, "[1]", '{"timestamp": "2026']
    with log.open("a") as out:
        out.write(json.dumps(entry(0, "b")) + "\n")
    assert prune(log) == ["a", "other", "untimed", "b"]


@pytest.mark.parametrize("jump", [-50 * 365 * DAY, 74 * 365 * DAY])
def test_a_clock_that_is_not_believed_prunes_nothing(box: Box, jump: float) -> None:
    """A clock in 1970 or 2100."""
    box.learn(tools__editor="vi")
    box.clock.jump(jump)
    box.bench.run_job("changelog")
    assert len(box.changelog) == 1
