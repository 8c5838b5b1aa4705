"""One model call for facts and profile, through the real engine: from a transcript to the files on disk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from msgspec.structs import replace

from support_continuity import ANSWER, World
from support_heard import write_heard
from tacitd.handler import Handler, Plugin
from tacitd.plugins import FoundPlugins
from tacitd_handlers.continuity import make_plugin as continuity
from tacitd_handlers.continuity.handler import ContinuityHandler
from tacitd_handlers.learning import make_plugin as learning
from tacitd_handlers.profile import make_plugin as profile
from tacitd_handlers.profile.handler import ProfileHandler

FACTS = "Prefers pnpm over npm\n"
SYNTHESIS = '{"FILE": "LEARNED.md", "FACT": "Prefers pnpm over npm", "FROM": [1]}'
SAID = 'PROFILE: {"work": {"languages": ["TypeScript"]}, "tools": {"editor": "helix"}}'


class Whole(World):
    """An engine with learning, profile and continuity."""

    said = SAID
    facts = FACTS

    def start(self) -> None:
        def remade(one: Plugin, make: Callable[[], Handler]) -> Plugin:
            return replace(one, make=make, footprint=None)

        self.model.rules = [
            ("knowledge synthesis", SYNTHESIS),
            ("opinion mining", lambda ask: write_heard(self.facts + self.said, ask.prompt)),
            ("working session", ANSWER),
        ]
        slices = (
            learning(),
            remade(profile(), lambda: ProfileHandler(self.env)),
            remade(continuity(), lambda: ContinuityHandler(self.env)),
        )
        self.build(FoundPlugins(slices))

    @property
    def profile(self) -> dict[str, Any]:
        path = self.root / "memory" / "profile.json"
        return json.loads(path.read_text()) if path.exists() else {}

    @property
    def learned(self) -> str:
        path = self.project / "LEARNED.md"
        return path.read_text() if path.exists() else ""

    @property
    def calls(self) -> Counter[str]:
        return Counter(ask.purpose for ask in self.model.asked)


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[Whole]:
    made = Whole(tmp_path)
    yield made
    made.kill()
    logger.remove()


def test_one_call_for_both(whole: Whole) -> None:
    """A session of five turns makes three calls: extraction, synthesis and summary. The profile extends the first."""
    for n in range(5):
        whole.type("s1", f"please use pnpm, never npm, in step {n}; I write TypeScript, in helix")
        whole.say("s1", f"Step {n} is done.")
    whole.end()
    whole.settle()
    assert whole.profile["work"] == {"languages": ["TypeScript"]}
    assert whole.profile["tools"] == {"editor": "helix"}
    assert "- Prefers pnpm over npm" in whole.learned
    assert "PROFILE" not in whole.learned
    assert whole.calls == {"extraction": 1, "synthesis": 1, "session": 1}
    (entry,) = [
        json.loads(one) for one in (whole.root / "memory" / "changelog.jsonl").read_text().splitlines()
    ]
    assert (entry["session_id"], entry["action"], entry["source"]) == ("s1", "extract", "minimal/hook")


@pytest.mark.parametrize("said", ["PROFILE: {}", "", "{}", 'PROFILE: {"work": {', "PROFILE: none"])
def test_nothing_for_the_profile_is_no_error(whole: Whole, said: str) -> None:
    """`{}`, nothing and broken JSON do not change the facts, and cause no further call."""
    whole.said = said
    whole.type("s1", "please use pnpm, never npm; I write TypeScript, in helix")
    whole.end()
    whole.settle()
    assert whole.profile == {}
    assert "- Prefers pnpm over npm" in whole.learned
    assert whole.calls["extraction"] == 1


def test_a_profile_without_facts(whole: Whole) -> None:
    """Words about the person only are not facts of the project."""
    whole.facts = "NONE\n"
    whole.type("s1", "I am a TypeScript developer and I use helix, just so you know")
    whole.end()
    whole.settle()
    assert whole.profile["tools"] == {"editor": "helix"}
    assert whole.learned == ""


def test_a_kill_in_between_counts_once(whole: Whole) -> None:
    """SPEC P-30: a finding that was committed, but not delivered before a kill, is delivered and counts once."""
    whole.type("s1", "please use pnpm, never npm; I write TypeScript, in helix")
    whole.end()
    whole.restart()
    whole.settle()
    whole.restart()
    whole.settle()
    meta = json.loads((whole.root / "memory" / "profile-meta.json").read_text())
    assert {one["seenCount"] for one in meta["preferences"]} == {1}
    assert whole.calls["extraction"] == 1
