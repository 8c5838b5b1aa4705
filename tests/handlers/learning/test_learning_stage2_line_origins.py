"""The origin of each line, and the facts from which no line was made."""

from __future__ import annotations

import json

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.clock import utc_seconds
from tacitd_handlers.learning import explain_line
from tacitd_handlers.learning.inventory import list_learned
from tacitd_handlers.learning.stage2.line_origins import describe_origins, divide_facts
from tacitd_handlers.learning.stage2.numbered_facts import NumberedFact
from tacitd_handlers.learning.stage2.parse import ProposedLine
from tacitd_handlers.learning.stage2.place import PlacedLine

FACTS = (
    NumberedFact(PNPM, (PNPM,), ("u1",), ("s1",), 2, 1),
    NumberedFact(SHORT, (SHORT,), (), ("s2",), prompts_of_batch=("u2", "u3")),
    NumberedFact("Prefers tabs", (), ("u9",), ("s0",)),
    NumberedFact("Use uv", ("Use uv",), ("u4",), ("s1",), 1, 1, again=True),
)


def placed(line: str, *numbers: int) -> PlacedLine:
    return PlacedLine(ProposedLine("LEARNED.md", line, sources=numbers), "LEARNED.md", "Coding", line)


def test_a_line_has_the_prompts_of_its_facts() -> None:
    """S-36: prompts, sessions and counts of the facts that FROM names; a repetition of a line was counted before."""
    assert describe_origins([placed("Rule", 1, 2)], FACTS) == {
        "Rule": {"prompts": ["u1", "u2", "u3"], "sessions": ["s1", "s2"], "said": 3, "corrections": 1}
    }
    assert describe_origins([placed("Rule", 4)], FACTS)["Rule"]["said"] == 0
    assert describe_origins([placed("Nothing tells")], FACTS) == {}


def test_each_new_fact_is_used_or_left_out() -> None:
    """S-36: an existing line and a fact that was left out before are not left out anew."""
    divided = divide_facts([placed("Rule", 2, 3)], FACTS)
    assert [one["fact"] for one in divided["left_out_facts"]] == [PNPM]
    assert divided["left_out_facts"][0] | {"prompts": []} == {
        "fact": PNPM,
        "said": 2,
        "corrections": 1,
        "sessions": ["s1"],
        "prompts": [],
    }
    assert divided["used"] == [SHORT, "Prefers tabs"]


def test_why_shows_the_words_of_the_line_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-36: of the prompts in the batch, `why` shows the one that the line came from, and when it was typed."""
    plan = f"{lines(PNPM)}\nFROM: 1\n\n{lines(SHORT)}\nFROM: 2"
    bench.answer((EXTRACTION, f"[2] {PNPM}\n[1] {SHORT}"), (SYNTHESIS, plan))
    records = [bench.record("short answers, please", age=7200.0), bench.record("pnpm, not npm", age=3600.0)]
    typed = [utc_seconds(record.time or 0.0) for record in records]
    bench.play(bench.grew(*records, due=True))
    bench.end()
    monkeypatch.setattr(explain_line, "get_paths", lambda: type("Paths", (), {"state_dir": bench.state}))
    (reason,) = explain_line.find_reasons("pnpm", bench.root)
    assert reason["said"] == [{"words": "pnpm, not npm", "at": typed[1]}]
    assert next(iter(list_learned(bench.root, bench.state))).prompts == ("u2",)


def test_lines_of_older_versions_keep_their_origin(bench: Bench) -> None:
    """Old state: a transaction and a batch without the new fields."""
    bench.learn()
    history = bench.state / "history.jsonl"
    for name in ('"lines":', '"marks":', '"times":', '"origins":', '"left_out_facts":'):
        history.write_text(history.read_text().replace(name, f'"x{name[1:]}'))
        bench.log.replace_text(name, f'"x{name[1:]}')
    bench.restart()
    (entry,) = list_learned(bench.root, bench.state)
    assert entry.prompts == ("u1",) and entry.sessions == ("s1",) and json.dumps(entry.as_data(1))
    assert bench.handler._state.line_confidences[bench.root][PNPM].seen_count == 1
