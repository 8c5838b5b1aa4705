"""What is typed while it is paused reaches no prompt, by whichever record it comes (SPEC "pause")."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tacitd.testing import HandlerBench, ScriptedModel
from tacitd.work.write_modes import set_pause
from tacitd_handlers.learning import make_plugin

PAUSED, AFTER = "no, always use amber", "no, always use basalt"
HUMAN = {"origin": {"kind": "human"}, "promptSource": "typed"}


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def bench(tmp_path: Path, model: ScriptedModel) -> Iterator[HandlerBench]:
    with HandlerBench(tmp_path, make_plugin(), model=model) as made:
        made.settle()
        yield made


class Session:
    """A session of Claude Code 2.1.328 in a terminal. Records have the time of the bench's clock."""

    def __init__(self, bench: HandlerBench) -> None:
        self.bench, self.number = bench, 0
        self.path = bench.home / ".claude/projects/-app/s.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, **record: Any) -> None:
        self.number += 1
        at = datetime.fromtimestamp(self.bench.clock.now(), UTC).isoformat()
        common = {
            "sessionId": "s",
            "timestamp": at,
            "cwd": str(self.bench.project),
            "uuid": f"u{self.number}",
        }
        made = common | {"userType": "external", "entrypoint": "cli", "version": "2.1.328"} | record
        with self.path.open("ab") as out:
            out.write(json.dumps(made).encode() + b"\n")

    def type(self, text: str) -> None:
        self.add(type="user", message={"role": "user", "content": text}, **HUMAN)

    def say(self, text: str, **more: Any) -> None:
        content = [{"type": "text", "text": text}]
        self.add(type="assistant", message={"role": "assistant", "content": content}, **more)

    def queue(self, operation: str, text: str | None = None, **more: Any) -> None:
        self.add(type="queue-operation", operation=operation, content=text, **more)


def pause(bench: HandlerBench, held: bool) -> None:
    bench.settle()
    app = bench._app
    set_pause(app.store, app.paths.state_dir, "all", "", bench.clock.now(), held=held)
    bench.settle()


def finish(bench: HandlerBench, model: ScriptedModel) -> str:
    """Type a last prompt, and return all that the model was asked."""
    for _ in range(3):
        bench.settle(4000)
    bench.sync()
    sent = "\n".join(model.prompts)
    assert "basalt" in sent
    return sent


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("delivery", ["dequeue", "attachment", "attachment first"])
def test_a_message_queued_in_a_pause_and_delivered_after_it(
    bench: HandlerBench, model: ScriptedModel, delivery: str, restarts: bool
) -> None:
    """It was typed while it was paused, whatever time its delivery has."""
    session = Session(bench)
    session.type("please begin")
    session.say("working")
    pause(bench, True)
    session.queue("enqueue", PAUSED)
    pause(bench, False)
    if restarts:
        bench.restart()
    command = {"type": "queued_command", "prompt": PAUSED, "commandMode": "prompt", "source_uuid": "c1"}
    if delivery == "dequeue":
        session.queue("dequeue")
        session.type(PAUSED)
    elif delivery == "attachment":
        session.queue("remove", PAUSED, reason="absorbed_mid_turn", commandUuid="c1")
        session.add(type="attachment", attachment=command | {"origin": {"kind": "human"}})
    else:
        session.add(type="attachment", attachment=command | {"origin": {"kind": "human"}})
        session.queue("remove", PAUSED, reason="absorbed_mid_turn", commandUuid="c1")
    session.type(AFTER)
    assert "amber" not in finish(bench, model)


@pytest.mark.parametrize("typed", [True, False])
def test_what_the_assistant_said_in_a_pause_is_no_context(
    bench: HandlerBench, model: ScriptedModel, typed: bool
) -> None:
    """It may quote what was typed; what it says after the pause is context again."""
    session = Session(bench)
    pause(bench, True)
    if typed:
        session.type(PAUSED)
    session.say("I use amber from now on")
    pause(bench, False)
    session.type(AFTER)
    session.say("Then cobalt?")
    session.type("yes, always use cobalt here, never dolomite")
    sent = finish(bench, model)
    assert "amber" not in sent and "Then cobalt?" in sent
