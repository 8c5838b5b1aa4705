"""The bench for handlers: what a test of another package sees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tacitd.errors import ConfigError
from tacitd.events import Due, Event, TranscriptGrew
from tacitd.handler import BaseHandler, Commit, Done, Gather, Job, Later, Outcome, Plugin, Tools
from tacitd.session_context.context_request import ContextRequest
from tacitd.testing import FakeClock, HandlerBench, ScriptedModel
from tacitd_handlers.continuity import make_plugin


class Gathering(BaseHandler):
    """Commits the words of prompts."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self, commits: Iterable[Commit], tools: Tools) -> None:
        self.opened = len(list(commits))

    def handle(self, event: Event, tools: Tools) -> Outcome:
        if isinstance(event, Due):
            return Done(data={"job": event.job})
        if not isinstance(event, TranscriptGrew):
            return Done()
        prompts = [prompt.text for record in event.records for prompt in record.prompts]
        if not prompts:
            return Done()
        if "fail" in prompts:
            return Later("it cannot be done", "do it otherwise")
        return Done(data={"words": prompts})

    def status(self) -> Mapping[str, Any]:
        return {"opened": self.opened}


def count(handler: Gathering, tools: Tools, params: Mapping[str, Any]) -> int:
    """A method of the plugin."""
    return handler.opened + int(params["more"])


def section(request: ContextRequest) -> str:
    """Its section of `context`."""
    return f"In {request.cwd.name}"[: request.budget]


def lines(part: Mapping[str, Any]) -> list[str]:
    """Its lines of `status`."""
    return [f"{part['opened']} opened"]


PLUGIN = Plugin(
    "gathering",
    Gathering,
    jobs=(Job("tidy"),),
    gather=Gather(quiet=300.0),
    context=f"{__name__}:section",
    status_lines=f"{__name__}:lines",
    methods={"gathering.count": f"{__name__}:count"},
)


def test_words_go_through_the_real_engine(tmp_path: Path) -> None:
    """Typed, gathered, committed; `sync` makes it due at once; a restart gets the commits back."""
    clock = FakeClock()
    with HandlerBench(tmp_path, PLUGIN, clock=clock) as bench:
        bench.type("one", "two")
        before = clock.now()
        bench.settle()
        assert bench.commits == [] and clock.now() == before + 2
        assert bench.sync() == []
        bench.answer("done")
        bench.run_job("tidy")
        assert [one.data for one in bench.commits] == [{"words": ["one", "two"]}, {"job": "tidy"}]
        assert bench.commits[0].at == before + 2 and bench.commits[0].session == "session"
        for kill in (False, True):
            bench.restart(kill=kill)
            assert bench.handler.opened == 2  # type: ignore[attr-defined]
        assert bench.status["opened"] == 2 and bench.status_lines == ["2 opened"]
        assert bench.call("gathering.count", more=3) == 5
        assert bench.context() == "In project" and bench.context(4, bench.home) == "In h"
        with pytest.raises(ValueError, match="no job"):
            bench.run_job("nothing")


def test_parked_work_and_what_is_wrong_are_seen(tmp_path: Path) -> None:
    """The reasons of parked work; a handler that cannot be opened; a wrong setting."""
    with HandlerBench(tmp_path, PLUGIN) as bench:
        bench.type("fail", cwd=bench.make_project("other"))
        bench.settle()
        assert bench.sync() == ["it cannot be done"] and bench.degraded == []

    class Broken(Gathering):
        def open(self, commits: Iterable[Commit], tools: Tools) -> None:
            raise OSError(28, "No space left")

    with pytest.raises(RuntimeError, match="No space left"):
        HandlerBench(tmp_path / "b", Plugin("broken", Broken))
    with pytest.raises(ConfigError):
        HandlerBench(tmp_path / "c", PLUGIN, settings={"TACITD_SESSION__IDLE": "soon"})


def test_one_of_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC P-22: continuity writes the file of a session; its status and its section follow. No model is asked."""
    model = ScriptedModel()
    for name in ("CLAUDE_CONFIG_DIR", "USER_MEMORY_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with HandlerBench(tmp_path, make_plugin(), model=model) as bench:
        bench.type("add a cart to the shop")
        bench.answer("I add the cart.")
        bench.sync()
        (file,) = (bench.home / ".claude/user-memory/sessions").glob("session-*.json")
        assert json.loads(file.read_text())["sessionId"] == "session"
        assert bench.status["sessions"] == 1 and bench.status["as_of"] is not None
        assert model.prompts == []
