"""Transcripts of the real client, in every version, with a running daemon: exactly the typed prompts reach the model.

The expectations below were written by hand from what was typed when the transcripts were made (where the client kept
a `history.jsonl`, from that), not from what tacitd finds in them.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support_daemon import (
    EXTRACTION,
    SYNTHESIS,
    Daemon,
    MakeDaemon,
    append,
    bullets,
    line,
    prompt_record,
    raw_files,
    stamp,
    tool_record,
)

pytestmark = pytest.mark.scenario
FIXTURES = Path(__file__).parent.parent / "fixtures" / "client"

TWO = ["RUNTASK", "second prompt"]
TYPED: dict[str, list[str]] = {
    "1.0.24": TWO,
    "1.0.83": TWO,
    "1.0.128": TWO,
    "2.0.14": TWO,
    "2.0.76": TWO,
    "2.1.20": TWO,
    "2.1.63": TWO,
    # From here on `claude -p` marks its records as a program's: nothing was typed.
    "2.1.110": [],
    "2.1.150": [],
    "2.1.250": [],
    "hooks_328": [],
    "bigres_328": [],
    "ns_197": ["please fix the login bug in the auth module", "and add a test for it"],
    "async_328": ["first", "second"],
    "mid_328": ["TWOTOOLS", "mid-turn queued words", "second queued words", "WRITEFILE", "xxxxx"],
    "resume_328": ["typed after resume", "typed after rewind"],
    "big_328": [
        "typed prompt one",
        "the thing",  # /zap the thing; the `!` command after it is not a preference, and /cost has no arguments
        "look at @CLAUDE.md now",
        "SLOWLY one",
        "SLOWLY two",
        "queued message here",
        "SLEEPTOOL",
        "WRITEFILE",
        "ASKME",
        "Red",  # chosen in answer to the model's question
        "RUNBG",
        "first line\nsecond línea — 日本語 ✓",
        "keep it short",  # /compact keep it short
        "after compaction prompt",
        "prompt after clear",
    ],
}
COPIED = {"1.0.24": ["RUNTASK"], "1.0.83": ["RUNTASK"]}
"""These clients copied the history into the resumed session with new uuids and new times. It counts again."""
RULES = (
    {"match": EXTRACTION, "each": r"What the person wrote:\n```\n([^\n]*)", "reply": r"Prefers \g<1>"},
    {
        "match": f"{SYNTHESIS}.*^src/auth/AGENTS.md$",
        "reply": "FILE: LEARNED.md\nFACT: Prefers amber-1\n\nFILE: src/auth/AGENTS.md\nFACT: Prefers argon-2",
    },
    {
        "match": SYNTHESIS,
        "each": r"^(?:-|\d+\.) (Prefers [^\n]+)$",
        "reply": r"FILE: LEARNED.md\nFACT: \g<1>" + "\n",
    },
)


def versions() -> list[str]:
    """The existing fixtures."""
    return sorted(path.name for path in FIXTURES.iterdir() if path.is_dir())


def test_every_version_that_is_there_has_an_expectation() -> None:
    """Every fixture has an expectation."""
    assert set(versions()) <= set(TYPED)
    assert {"1.0.24", "2.1.250", "big_328"} <= set(versions())


@pytest.mark.timeout(600)
def test_typed_words_of_every_version_are_learned_once(make: MakeDaemon) -> None:
    """CLAUDE_CODE section 6, SPEC S-01 to S-32; S-29: the same bytes again, also in forks, have no effect."""
    daemon = make(
        [dict(rule, match=f"(?m){rule['match']}") for rule in RULES],
        SESSION__IDLE="2s",
        CONTINUITY__SUMMARIES="false",
    )
    projects = {name: daemon.new_project(name.replace(".", "-")) for name in versions()}
    daemon.start()
    chance = random.Random(328)
    pieces = {path: data for name in projects for path, data in rewritten(name, daemon, projects[name])}
    feed(daemon, pieces, chance)
    work_in_a_folder(daemon)
    daemon.sync()
    everything = [*projects.values(), daemon.project]
    daemon.wait_until(lambda s: not any(map(raw_files, everything)) and settled(s), "no raw file is left")
    check_words(daemon, projects)
    check_files(daemon, projects)
    again(daemon, pieces, everything)


def check_words(daemon: Daemon, projects: dict[str, Path]) -> None:
    """The prompts of stage 1 contained exactly the typed texts, each once but for the old clients' copies."""
    put = Counter(daemon.put_to_model())
    typed = Counter(
        [
            *(words for name in projects for words in (*TYPED[name], *COPIED.get(name, ()))),
            "amber-1, but argon-2 in src/auth",
        ]
    )
    assert (typed - put, put - typed) == (Counter(), Counter()), "(not put to the model, put there too often)"


def check_files(daemon: Daemon, projects: dict[str, Path]) -> None:
    """LEARNED.md and the summary exist in projects with prompts, and nothing exists elsewhere."""
    for name, project in projects.items():
        first = [words.splitlines()[0] for words in TYPED[name]]
        # An `@path` in a Markdown file would be imported by the client: it is quoted.
        facts = sorted(f"Prefers {words.replace('@CLAUDE.md', '`@CLAUDE.md`')}" for words in first)
        assert sorted(bullets(project / "LEARNED.md")) == facts, name
        assert (project / "tmp" / "known-facts-summary.md").exists() == bool(facts)
        if not facts:
            assert sorted(path.name for path in project.iterdir()) == [".git"], name
    assert daemon.learned == ["Prefers amber-1"]
    assert bullets(daemon.project / "src" / "auth" / "AGENTS.md") == ["Prefers argon-2"]


def again(daemon: Daemon, pieces: dict[Path, bytes], everything: list[Path]) -> None:
    """Write the same bytes into forks and new files, and restart: no call, no changed byte."""
    daemon.sync()  # other handlers may still work on the ends of these sessions
    before = {project: daemon.snapshot(project) for project in everything}
    calls = len(daemon.claude.calls())
    for path, data in pieces.items():
        fork = str(uuid.uuid4())
        append(
            path.with_name(f"{fork}.jsonl"),
            re.sub(rb'"sessionId":"[^"]*"', b'"sessionId":"%s"' % fork.encode(), data),
        )
        if path.stat().st_size:
            path.unlink()
            append(path, data)
    daemon.sync()
    daemon.restart()
    daemon.sync()
    daemon.wait_until(settled, "every session ended again")
    assert len(daemon.claude.calls()) == calls
    assert {project: daemon.snapshot(project) for project in everything} == before


def settled(status: dict[str, Any]) -> bool:
    """Whether no handler is busy and none has a lag."""
    return not any(h["busy"] or h["lag"]["bytes"] for h in status["handlers"].values())


def work_in_a_folder(daemon: Daemon) -> None:
    """A session that edits a module: its facts belong into the module's AGENTS.md."""
    folder = daemon.project / "src" / "auth"
    folder.mkdir(parents=True)
    (folder / "login.py").write_text("pass\n")
    append(daemon.begin("m1"), line(tool_record("m1", folder / "login.py", str(daemon.project))))
    daemon.type_("m1", "amber-1, but argon-2 in src/auth")


def rewritten(name: str, daemon: Daemon, project: Path) -> Iterator[tuple[Path, bytes]]:
    """A version's transcripts, changed to here and now: (path, bytes), oldest first."""
    found = sorted(FIXTURES.joinpath(name).glob("*/**/*.jsonl"), key=_first_stamp)
    stamps = [at for path in found for at in _stamps(path.read_bytes())]
    shift = time.time() - min(stamps, default=0.0)
    for path in found:
        inside = path.relative_to(FIXTURES / name)
        target = daemon.transcript("x", project).parent.joinpath(*inside.parts[1:])
        yield target, _moved(path.read_bytes(), shift, project)


def _moved(data: bytes, shift: float, project: Path) -> bytes:
    data = re.sub(rb'"cwd":"[^"]*"', b'"cwd":' + json.dumps(str(project)).encode(), data)
    return _STAMP.sub(lambda found: b'"timestamp":"%s"' % stamp(_seconds(found[1]) + shift).encode(), data)


_STAMP = re.compile(rb'"timestamp":"([0-9T:.-]+Z)"')


def _stamps(data: bytes) -> list[float]:
    return [_seconds(text) for text in _STAMP.findall(data)]


def _first_stamp(path: Path) -> float:
    return min(_stamps(path.read_bytes()), default=0.0)


def _seconds(text: bytes) -> float:
    return datetime.fromisoformat(text.decode()).timestamp()


def feed(daemon: Daemon, pieces: dict[Path, bytes], chance: random.Random) -> None:
    """Append everything in several writes, some of which end in the middle of a line."""
    for path, data in pieces.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        append(path, b"")
        at = 0
        while at < len(data):
            size = chance.choice((90, 700, 4000, len(data) // 2 + 1))
            append(path, data[at : at + size])
            at += size
            if chance.random() < 0.05:
                daemon.call("ping")


def test_a_learned_line_survives_its_transcript(make: MakeDaemon) -> None:
    """SPEC X-11: Claude Code deletes transcripts; what was learned stays, and the daemon runs on."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    shutil.rmtree(daemon.transcript("s1").parent)
    daemon.type_("s2", "Prefers basalt-2")
    daemon.synthesize()
    assert daemon.learned == ["Prefers amber-1", "Prefers basalt-2"]


def test_a_record_without_newline_waits_for_it(make: MakeDaemon) -> None:
    """CLAUDE_CODE 13: a live file's last line may be a line that is being written."""
    daemon = make()
    daemon.start()
    whole = line(prompt_record("s1", "Prefers amber-1", str(daemon.project)))
    append(daemon.begin("s1"), whole[:200])
    daemon.sync()
    assert daemon.claude.calls() == []
    append(daemon.begin("s1"), whole[200:])
    daemon.sync()
    assert daemon.put_to_model() == ["Prefers amber-1"]
