"""A second source works: another root, another line format, and the same engine.

The client of these tests writes `<home>/talks/<session>.talk`, one object a line: `{"who": "me", "text": "use pnpm"}`.
What its helpers do is in `helper-<session>.talk`. It works in one directory, which its lines do not name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

import support_engine
from support_engine import Scene, Scripted, prompts_of
from tacitd.app import build_app
from tacitd.events import Prompt, Record, SessionEnded, TranscriptGrew
from tacitd.handler import Done
from tacitd.sources import lines
from tacitd.sources.base import (
    Assembler,
    ClientUse,
    JudgedLine,
    OwnCalls,
    PersonWords,
    PromptVerdict,
    Recognition,
    SessionClaim,
    Source,
)
from tacitd.sources.explain import judge_transcript
from tacitd.sources.instruction_files import ContextFiles
from tacitd.sources.record_buffer import RecordBuffer
from tacitd.work.work_status import count_odd_lines


class TalkAssembler:
    """The records of one talk."""

    def __init__(self, path: Path, cwd: str, start: int, explain: bool) -> None:
        self.start, self.session, self.cwd = start, path.stem, cwd
        self.judged: list[JudgedLine] | None = [] if explain else None
        self.newest_time: float | None = None
        self.is_headless = False
        self.recognition = Recognition(False, 0, "", "")
        self.counts: Counter[str] = Counter()
        self.pinned_offset: int | None = None
        self.buffer = RecordBuffer(start)
        self._answer = ""

    def read_lines(self, first: int, data: bytes, cut: int) -> None:
        at = 0
        while at < cut:
            begin, at = at, data.index(b"\n", at) + 1
            self._read_line(first + begin, first + at, data[begin : at - 1])

    def read_leading_records(self, first: int, data: bytes) -> int:
        spans = lines.leading_objects(data)
        for start, end in spans:
            self._read_line(first + start, first + end, data[start:end])
        return spans[-1][1] if spans else 0

    def release_queued(self) -> None: ...

    def _read_line(self, start: int, end: int, raw: bytes) -> None:
        try:
            said = json.loads(raw)
            who, text = said["who"], said["text"]
        except (ValueError, KeyError, TypeError):
            self.counts["damaged"] += start >= self.start
            return
        if who == "me":
            prompt = Prompt(
                "typed", text, self.session, f"{self.session}:{start}", None, self.cwd, self._answer
            )
            self.buffer.add_record(
                Record(start, end, who, session=self.session, cwd=self.cwd, prompts=(prompt,))
            )
            if self.judged is not None:
                verdict = PromptVerdict(1, (PersonWords("typed", text),), "said by me")
                self.judged.append(
                    JudgedLine(start, who, "", self.session, None, self.cwd, verdict, (prompt,))
                )
        else:
            self._answer = text
            self.buffer.add_record(Record(start, end, who, session=self.session, cwd=self.cwd, text=text))


@dataclass(frozen=True)
class Talks:
    """The client of these tests."""

    home: Path
    own: OwnCalls
    cwd: Path
    claims: Sequence[SessionClaim] = ()
    name: str = "Talks"
    context_files: ContextFiles = field(default_factory=ContextFiles)
    hooks: None = None

    @property
    def roots(self) -> Sequence[Path]:
        return (self.home / "talks",)

    @property
    def names(self) -> Sequence[str]:
        return (self.name,)

    def name_of(self, path: Path) -> str:
        return self.name

    def absent_hint(self, root: Path) -> str:
        return "Talk once."

    def why_odd(self, path: str) -> str:
        return ""

    def is_transcript(self, path: str) -> bool:
        return path.endswith(".talk")

    def is_subagent(self, path: str) -> bool:
        return path.rpartition("/")[2].startswith("helper-")

    def session_of_subagent(self, path: Path) -> str | None:
        return path.stem.removeprefix("helper-")

    def list_sessions(self) -> set[str]:
        return {path.stem for root in self.roots for path in root.glob("*.talk")}

    def list_originals(self, path: Path) -> set[str]:
        return set()

    def list_clients(self, since: float) -> Sequence[ClientUse]:
        return ()

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> Assembler:
        return TalkAssembler(path, str(self.cwd), start, explain)

    def read_claims(self) -> Sequence[SessionClaim]:
        return self.claims


class TalkScene:
    """An engine that follows talks."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def make(home: Path, own: OwnCalls, environ: Mapping[str, str]) -> Source:
            return Talks(home, own, tmp_path.resolve() / "work" / "app")

        monkeypatch.setattr(support_engine, "build_app", partial(build_app, source_for=make))
        self.scene = Scene(tmp_path, Scripted(lambda event: Done(data={"did": prompts_of(event)})))
        self.engine = self.scene.engine
        self.folder = self.scene.tmp / "claude" / "talks"
        self.folder.mkdir()
        self.scene.settle()

    def talk(self, name: str, *said: object) -> Path:
        path = self.folder / f"{name}.talk"
        with path.open("ab") as out:
            out.write(b"".join(json.dumps(one).encode() + b"\n" for one in said))
        self.scene.settle()
        return path


@pytest.fixture
def talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TalkScene:
    return TalkScene(tmp_path, monkeypatch)


def me(text: str) -> dict[str, str]:
    return {"who": "me", "text": text}


def it(text: str) -> dict[str, str]:
    return {"who": "it", "text": text}


def test_a_prompt_of_another_format_reaches_the_handler(talks: TalkScene) -> None:
    """DESIGN "Sources": nothing outside a source's own folder depends on its format."""
    path = talks.talk("monday", it("I ran npm."), me("use pnpm"))
    (grew,) = [event for event in talks.scene.handler.events if isinstance(event, TranscriptGrew)]
    assert (grew.transcript, grew.session) == (path, "monday")
    assert [record.text for record in grew.records if record.text] == ["I ran npm."]
    (prompt,) = grew.records[-1].prompts
    assert (prompt.text, prompt.context, prompt.cwd) == ("use pnpm", "I ran npm.", str(talks.scene.root))
    talks.talk("monday", me("and no semicolons"))
    assert talks.scene.handler.words == [["use pnpm"], ["and no semicolons"]]


def test_malformed_lines_of_another_format_are_counted(talks: TalkScene) -> None:
    """S-05: a line that cannot be read loses no other."""
    talks.talk("monday", "no object", me("use pnpm"), {"who": "me"})
    assert talks.scene.handler.words == [["use pnpm"]]
    assert count_odd_lines(talks.engine.reader.odd_lines) == {"damaged": 2}


def test_only_transcripts_of_the_source_are_read(talks: TalkScene) -> None:
    """The source decides by name what is a transcript, and which are its helpers'."""
    talks.talk("monday", me("use pnpm"))
    talks.talk("helper-monday", me("not a person"))
    (talks.folder / "note.jsonl").write_text(json.dumps(me("no transcript")) + "\n")
    talks.scene.type("s1", "another client")
    talks.scene.settle()
    assert talks.scene.handler.words == [["use pnpm"]]
    assert {Path(name).name for name in talks.engine.follower.stamps} == {"monday.talk", "helper-monday.talk"}


def test_sessions_of_another_source_end_when_idle(talks: TalkScene) -> None:
    """S-20: idle time is the engine's; a client that makes no claims ends by it."""
    talks.talk("monday", me("use pnpm"))
    talks.scene.settle(talks.scene.app.config.session.idle + 1)
    (ended,) = [event for event in talks.scene.handler.events if isinstance(event, SessionEnded)]
    assert (ended.session, ended.why) == ("monday", "idle")


def test_positions_in_another_format_survive_a_restart(talks: TalkScene) -> None:
    """No prompt is handled twice, whatever its format."""
    talks.talk("monday", me("use pnpm"))
    talks.scene.restart()
    talks.talk("monday", me("and no semicolons"))
    assert talks.scene.handler.words == [["and no semicolons"]]


def test_lines_of_another_format_are_explained(talks: TalkScene) -> None:
    """`tacitd prompts --explain` reads every source."""
    path = talks.talk("monday", it("I ran npm."), me("use pnpm"))
    judged = list(judge_transcript(path, talks.engine.source))
    assert [(one.verdict.reason, one.prompts[0].text) for one in judged] == [("said by me", "use pnpm")]


def test_a_root_that_is_missing_has_the_hint_of_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELIABILITY: a degradation names its fix."""
    made = TalkScene(tmp_path, monkeypatch)
    made.folder.rmdir()
    made.scene.settle()
    assert [one.hint for one in made.engine.list_degradations() if one.id == "transcripts.absent"] == [
        "Talk once."
    ]
