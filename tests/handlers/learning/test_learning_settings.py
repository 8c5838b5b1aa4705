"""When prompts are offered to the learning, through the real engine (SPEC S-01)."""

from __future__ import annotations

from pathlib import Path

from support_learning import EXTRACTION
from tacitd.plugin import GatherRule
from tacitd.testing import HandlerBench, ScriptedModel
from tacitd_handlers.learning import make_plugin
from tacitd_handlers.learning.settings import ExtractionSettings, choose_gather


def asked(model: ScriptedModel) -> list[str]:
    """The prompts of the extraction."""
    return [prompt for prompt in model.prompts if EXTRACTION in prompt]


def test_prompts_are_sent_after_ten_minutes_of_quiet(tmp_path: Path) -> None:
    """SPEC S-01: quiet is counted from the newest prompt; the model is not asked and nothing is written before."""
    model = ScriptedModel()
    with HandlerBench(tmp_path, make_plugin(), model=model) as bench:
        bench.type("use pnpm, not npm")
        bench.settle(590)
        bench.type("and tabs")
        bench.settle(590)
        assert asked(model) == [] and not (bench.project / "tmp").exists()
        bench.settle(20)
        (prompt,) = asked(model)
        assert "use pnpm, not npm" in prompt and "and tabs" in prompt


def test_the_tenth_prompt_sends_them_at_once(tmp_path: Path) -> None:
    """SPEC S-01: ten prompts, or 24 KB of them; shell commands do not count."""
    model = ScriptedModel()
    with HandlerBench(tmp_path, make_plugin(), model=model) as bench:
        bench.type(*(f"use tool {number}" for number in range(9)))
        bench.settle()
        assert asked(model) == []
        bench.type("use pnpm, not npm")
        bench.settle()
        assert len(asked(model)) == 1


def test_sync_sends_prompts_that_are_gathered(tmp_path: Path) -> None:
    """Issue "Command line": `sync` makes gathered work due."""
    model = ScriptedModel()
    with HandlerBench(tmp_path, make_plugin(), model=model) as bench:
        bench.type("use pnpm, not npm")
        bench.settle()
        assert asked(model) == [] and bench.sync() == [] and len(asked(model)) == 1


def test_the_settings_are_those_of_the_section() -> None:
    """docs/configuration.md: `extraction.settle`, `extraction.max_prompts`, `extraction.max_bytes`."""
    section = ExtractionSettings(settle=60.0, max_prompts=3, max_bytes=2048)
    assert choose_gather({"extraction": section}) == GatherRule(quiet=60.0, prompts=3, bytes=2048)
