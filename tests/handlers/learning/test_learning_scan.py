"""`tacitd scan` and its estimate: upper bounds, through the real command line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_beginnings import is_new, opening
from support_cli import Cli
from support_examples import examples
from support_git import run_git as git
from support_sources import ROOT
from tacitd.clock import SystemClock
from tacitd.contract import StoredPrompt
from tacitd.events import Prompt
from tacitd.store import Store
from tacitd.work.prompt_rows import finish_prompts, insert_prompt, queue_prompt
from tacitd.work.task_rows import choose_prompts
from tacitd_handlers.learning import scan
from tacitd_handlers.learning.answers import (
    EXTRACTION_ANSWER,
    NumberedFact,
    choose_facts,
    parse_heard,
)
from tacitd_handlers.learning.scan import MATERIAL, SMART_IN, SMART_OUT, SessionVolume, estimate_cost
from tacitd_handlers.shared.model_text import FACT_LIMIT

MAX_PROMPTS, MAX_BYTES = 10, 2048


@given(st.lists(st.integers(0, 2 * MAX_BYTES), min_size=1, max_size=60))
@examples(60)
def test_no_fewer_calls_than_gathering_makes(sizes: list[int]) -> None:
    """The estimate is never exceeded."""
    waiting = [
        StoredPrompt(i, f"u{i}", "claude-code", "s", "typed", "x" * max(1, size), "", "/w", 0.0)
        for i, size in enumerate(sizes)
    ]
    calls = 0
    while waiting:
        waiting = waiting[len(choose_prompts(waiting, MAX_PROMPTS, MAX_BYTES)) :]
        calls += 1
    said = estimate_cost(
        [SessionVolume("/w", len(sizes), sum(max(1, s) for s in sizes))], MAX_PROMPTS, MAX_BYTES
    )
    assert calls <= said.calls and said.prompts == len(sizes) and said.usd > 0


@pytest.mark.parametrize("answers", [1, 7, 100])
def test_no_fewer_syntheses_than_portions(answers: int) -> None:
    """The estimate is not exceeded if every answer is as long as possible, with the longest facts."""
    many, size = list[str](), 0
    while size <= EXTRACTION_ANSWER:
        many.append(json.dumps({"message": 1, "words": "x", "fact": f"{len(many)} ".ljust(FACT_LIMIT, "x")}))
        size += len(many[-1]) + 1
    parsed = parse_heard("\n".join(many[:-1]))
    assert isinstance(parsed, tuple) and len(parsed) == len(many) - 1 > 20
    heard = [one for one in parsed if one is not None]
    facts = [f"{answer} {one.fact}"[:FACT_LIMIT] for answer in range(answers) for one in heard]
    said = estimate_cost([SessionVolume("/w", answers * MAX_PROMPTS, answers)], MAX_PROMPTS, MAX_BYTES)
    waiting, calls = list(map(NumberedFact, facts)), 0
    while waiting:
        waiting, calls = waiting[len(choose_facts(waiting)) :], calls + 1
    assert answers + calls <= said.calls


def test_the_readme_says_what_is_estimated() -> None:
    """README "What it costs" has the same numbers for ten prompts and for a project."""
    largest = estimate_cost([SessionVolume("/w", 10, 24_576)], 10, 24_576)
    ending = (SMART_IN * MATERIAL / 2 + SMART_OUT * 3000) / 1e6
    once = largest.usd - (largest.calls - 1) * ending
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"at most about {once * 100:.1f} cents for ten prompts" in text
    assert ending <= 0.15 and "15 cents for each call of the larger one" in text


DAY = 86_400.0


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A home with two projects, and no claude."""
    made = Cli(tmp_path, monkeypatch, capsys)
    for name in ("app", "other"):
        (made.home / name).mkdir()
        git(made.home / name, "init", "-q", "--template=")
    return made


def say(cli: Cli, words: str, *, ago: float = 3600.0, project: str = "app", session: str = "s") -> Path:
    """A prompt in a transcript, this many seconds ago."""
    path = cli.config_dir / "projects" / project / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    at = time.time() - ago
    stamp = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    record = {"type": "user", "uuid": words, "sessionId": session, "cwd": str(cli.home / project)}
    record |= {"timestamp": stamp, "version": "2.1.328"}
    made: dict[str, object] = {**record, "message": {"role": "user", "content": words}}
    begun = opening(session, stamp=stamp) if is_new(path) else b""
    with path.open("ab") as file:
        file.write(begun + json.dumps(made).encode() + b"\n")
    os.utime(path, (at, at))
    return path


def test_a_dry_run_says_prompts_calls_and_dollars_and_does_nothing(cli: Cli) -> None:
    """It first prints the number of prompts, and the maximum of calls and cost, without a daemon and without claude."""
    for number in range(12):
        say(cli, f"words {number}")
    said = cli.run("scan", "--since", "30d", "--dry-run")
    assert said.code == 0 and said.out == ""
    assert said.err.startswith("12 prompts in 1 session: at most 6 calls and $0.")
    assert "$0.00" not in said.err
    made = cli.run("scan", "--since", "30d", "--dry-run", "--json").json
    assert made["prompts"] == 12 and made["calls"] == 6 and "goes first" not in said.err
    cli.set(TACITD_BUDGET__USD_PER_DAY="0.2")
    said = cli.run("scan", "--since", "30d", "--dry-run")
    assert "about " in said.err and " days at $0.20 a day; what you type goes first" in said.err
    cli.set(TACITD_BUDGET__USD_PER_DAY="0")
    assert "the budget allows no call now" in cli.run("scan", "--since", "30d", "--dry-run").err
    assert not cli.state.exists()


def handle(cli: Cli, numbers: Iterable[int]) -> None:
    """Learning has handled these prompts."""
    cli.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store.open(cli.state, SystemClock())
    with store.write() as tx:
        for number in numbers:
            prompt = Prompt("typed", f"words {number}", "s", f"words {number}", None, "")
            stored = insert_prompt(tx, prompt, "claude-code", "/s.jsonl", None, 0.0)
            assert stored is not None
            queue_prompt(tx, stored.number, ["learning"])
            finish_prompts(tx, "learning", [stored.number], 0.0)
    store.close()


def test_what_was_handled_before_is_counted_apart(cli: Cli) -> None:
    """New prompts are estimated; handled ones are listed too, so that the figures add up."""
    for number in range(12):
        say(cli, f"words {number}")
    handle(cli, range(5))
    said = cli.run("scan", "--since", "30d", "--dry-run")
    assert (
        "7 prompts in 1 session:" in said.err and "handled before, which costs nothing: 5 prompts" in said.err
    )
    made = cli.run("scan", "--since", "30d", "--dry-run", "--json").json
    assert (made["prompts"], made["handled"]) == (7, 5)
    handle(cli, range(5, 12))
    said = cli.run("scan", "--since", "30d", "--yes")
    assert said.code == 0 and "nothing new was typed since then" in said.err
    assert not (cli.state / "lock").exists(), "nothing was begun"


def test_only_what_is_young_enough_counts(cli: Cli) -> None:
    """`--since` takes a duration or a date; a file may be newer than its records."""
    say(cli, "old", ago=40 * DAY)
    say(cli, "new", ago=2 * DAY)
    for since, number in (("30d", 1), ("50d", 2), ("1d", 0), ("2000-01-01", 2), ("2000-01-01T12:00:00", 2)):
        assert cli.run("scan", "--since", since, "--dry-run", "--json").json["prompts"] == number


def test_only_one_project(cli: Cli) -> None:
    """`--project` takes any directory in the project."""
    say(cli, "here")
    say(cli, "there", project="other", session="t")
    (cli.home / "app/src").mkdir()
    asked = ["scan", "--since", "30d", "--dry-run", "--json", "--project"]
    assert cli.run(*asked, cli.home / "app/src").json["prompts"] == 1
    assert cli.run(*asked, ".", cwd=cli.home / "other").json["prompts"] == 1


def test_what_is_said_no_to_is_not_done(cli: Cli) -> None:
    """Without `--yes` it asks, and an empty answer means no."""
    say(cli, "words")
    for typed in ("n\n", ""):
        said = cli.run("scan", "--since", "30d", typed=typed)
        assert said.code == 1 and "Go on?" in said.err and not cli.state.exists()


@pytest.mark.parametrize(
    ("since", "hint"),
    [*((one, "") for one in ("soon", "-1d", "2026-13-45", "0001-01-01", "9" * 400 + "d", "")),
     *((one, f"write {one.strip()}d for days") for one in ("3", "1.5", " 30 "))],
)  # fmt: skip
def test_a_wrong_since_is_wrong_use(cli: Cli, since: str, hint: str) -> None:
    """The exit code is 2, with the allowed forms; also for times outside the clock's range, and for a number without its unit:
    `--since 3` would mean three seconds, which is always a mistake."""
    said = cli.run("scan", f"--since={since}", "--dry-run")
    assert said.code == 2 and "--since" in said.err and hint in said.err


def test_a_project_that_is_none_is_wrong_use(cli: Cli) -> None:
    """The exit code is 2, with the reason."""
    said = cli.run("scan", "--since", "1d", "--project", cli.home)
    assert said.code == 2 and "home directory" in said.err
    say(cli, "words")
    cli.set(TACITD_PROJECTS__EXCLUDE=str(cli.home / "app"))
    said = cli.run("scan", "--since", "30d", "--dry-run", "--project", cli.home / "app")
    assert said.code == 2 and "projects.exclude" in said.err


def test_a_project_that_is_excluded_is_not_estimated(cli: Cli) -> None:
    """Nothing of it is sent: it is named as excluded, by whom, and does not count among the others."""
    say(cli, "here")
    say(cli, "there", project="other", session="t")
    asked = ["scan", "--since", "1d", "--dry-run", "--json"]
    cli.set(TACITD_PROJECTS__EXCLUDE="**/other")
    said = cli.run(*asked, "--project", cli.home / "other")
    assert said.code == 2 and "the configuration excludes it (projects.exclude: **/other)" in said.err
    cli.set(TACITD_PROJECTS__EXCLUDE="")
    assert cli.run(*asked).json["prompts"] == 2
    assert cli.run("exclude", cli.home / "other").code == 0
    said = cli.run(*asked, "--project", cli.home / "other")
    assert said.code == 2 and f"{cli.home / 'other'} is excluded\n" in said.err
    assert f"`tacitd exclude --undo {cli.home / 'other'}`" in said.err
    assert cli.run(*asked).json["prompts"] == 1


def test_forks_and_damaged_files_do_not_count_twice_or_stop_it(cli: Cli) -> None:
    """Bad input, and prompts that occur twice."""
    path = say(cli, "words")
    (path.parent / "fork.jsonl").write_bytes(path.read_bytes())
    (path.parent / "bad.jsonl").write_bytes(b"\0\xff{{{\n")
    (path.parent / "link.jsonl").symlink_to(path)
    os.mkfifo(path.parent / "fifo.jsonl")
    said = cli.run("scan", "--since", "30d", "--dry-run", "--json")
    assert said.code == 0 and said.json["prompts"] == 1


def test_a_scan_is_not_done_while_something_is_parked(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/commands.md: 75 for what waits, also because the person paused it."""
    parked = {
        "handler": "learning",
        "project": "/app",
        "what": "1 prompt",
        "reason": "paused: all",
        "hint": "resume",
    }
    said = {
        "made": [],
        "unmade": [],
        "done": True,
        "rescued": 0,
        "degraded": [],
        "parked": [parked],
        "waits": [],
    }
    assert scan._run_scan(lambda method, **_: said, ["/app"]) == 75
    assert "paused" in capsys.readouterr().err


def test_an_interrupt_says_that_the_work_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    """What was queued is sent although nobody waits for it any more; the exit code is that of an interrupt."""

    def call(method: str, /, **_: Any) -> Any:
        if method == "sync":
            raise KeyboardInterrupt

    assert scan._run_scan(call, ["/app"]) == 1
    said = capsys.readouterr().err
    assert "the work goes on in the background; `tacitd pause` stops it\n" in said and "aborted" not in said
