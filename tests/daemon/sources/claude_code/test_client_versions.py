"""What the person typed, read from what every version of the client wrote: exactly these texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_transcripts import SOURCE
from tacitd.events import Prompt
from tacitd.sources.claude_code.source import is_subagent
from tacitd.sources.explain import judge_transcript
from tacitd.sources.transcript import Tail

CLIENT = Path(__file__).parents[3] / "fixtures" / "client"

TWO = [("typed", "RUNTASK"), ("typed", "second prompt")]
"""The sessions of the old versions were driven by -p; up to 2.1.63 no record tells."""

EXPECTED: dict[str, list[tuple[str, str]]] = {
    "1.0.24": [*TWO, ("typed", "RUNTASK")],
    "1.0.83": [*TWO, ("typed", "RUNTASK")],
    "1.0.128": TWO,
    "2.0.14": TWO,
    "2.0.76": TWO,
    "2.1.20": TWO,
    "2.1.63": TWO,
    "2.1.110": [],
    "2.1.150": [],
    "2.1.250": [],
    "ns_197": [
        ("typed", "please fix the login bug in the auth module"),
        ("typed", "and add a test for it"),
    ],
    "mid_328": [
        ("typed", "TWOTOOLS"),
        ("queued", "mid-turn queued words"),
        ("queued", "second queued words"),
        ("typed", "WRITEFILE"),
        ("typed", "xxxxx"),
    ],
    "big_328": [
        ("typed", "typed prompt one"),
        ("command", "the thing"),
        ("bash", "echo bashmode"),
        ("typed", "look at @CLAUDE.md now"),
        ("typed", "SLOWLY one"),
        ("typed", "SLOWLY two"),
        ("typed", "queued message here"),
        ("typed", "SLEEPTOOL"),
        ("typed", "WRITEFILE"),
        ("typed", "ASKME"),
        ("answers", "Red"),
        ("typed", "RUNBG"),
        ("typed", "first line\nsecond línea — 日本語 ✓"),
        ("command", "keep it short"),
        ("typed", "after compaction prompt"),
        ("typed", "prompt after clear"),
    ],
    "resume_328": [("typed", "typed after resume"), ("typed", "typed after rewind")],
}


def sessions(version: str) -> list[Path]:
    return [p for p in sorted((CLIENT / version).glob("*/**/*.jsonl")) if not is_subagent(p)]


def said(prompts: list[Prompt]) -> list[tuple[str, str]]:
    return [(prompt.kind, prompt.text) for prompt in prompts]


def test_every_version_is_expected() -> None:
    """CLAUDE_CODE section 11: one row for each existing folder."""
    assert {path.name for path in CLIENT.iterdir() if path.is_dir()} == set(EXPECTED)


@pytest.mark.parametrize("version", EXPECTED)
def test_what_the_person_typed(version: str) -> None:
    """CLAUDE_CODE section 6 for each version's records; sessions may be listed in any order."""
    found = [p for path in sessions(version) for j in judge_transcript(path, SOURCE) for p in j.prompts]
    assert sorted(said(found)) == sorted(EXPECTED[version])
    assert all(p.session and p.uuid and p.time and p.cwd for p in found)


@pytest.mark.parametrize("version", EXPECTED)
def test_sub_agents_hold_nothing(version: str) -> None:
    """CLAUDE_CODE section 6 rule 1: also where a sub-agent's file is read like any other."""
    for path in (CLIENT / version).glob("*/**/*.jsonl"):
        if is_subagent(path):
            judged = list(judge_transcript(path, SOURCE))
            assert not [prompt for one in judged for prompt in one.prompts]
            assert {one.verdict.rule for one in judged} <= {1}


@pytest.mark.parametrize("version", ["mid_328", "big_328", "2.1.63"])
@pytest.mark.parametrize("limit", [1, 700, 1 << 20])
def test_the_slices_do_not_matter(version: str, limit: int) -> None:
    """RELIABILITY row 9: the same prompts, wherever a slice ends; reading may stop after any complete line."""
    for path in sessions(version):
        tail = Tail(path, 0, SOURCE)
        while tail.read_next_slice(limit).more:
            pass
        tail.release_queued()
        whole = [p for judged in judge_transcript(path, SOURCE) for p in judged.prompts]
        assert list(tail.list_prompts(0)) == whole
        assert [p for record in tail.list_records(0) for p in record.prompts] == whole


def test_context_and_pastes() -> None:
    """DESIGN "Model": the sentence that a prompt answers is included; a paste is counted and not kept."""
    found = [p for path in sessions("big_328") for j in judge_transcript(path, SOURCE) for p in j.prompts]
    by_text = {prompt.text: prompt for prompt in found}
    assert by_text["Red"].context == "Which colour?"
    assert by_text["ASKME"].context == "SLEPT"
    assert by_text["typed prompt one"].context == ""
    pasted = [p for path in sessions("mid_328") for j in judge_transcript(path, SOURCE) for p in j.prompts][
        -1
    ]
    assert (pasted.text, pasted.pasted) == ("xxxxx", 589)


def test_queued_words_carry_the_uuid_of_their_attachment() -> None:
    """CLAUDE_CODE section 5.3: remove has commandUuid, the attachment source_uuid: one prompt, one id."""
    found = [p for path in sessions("mid_328") for j in judge_transcript(path, SOURCE) for p in j.prompts]
    assert found[1].id == "d7a8a2d8-d35a-4da9-9e8f-d30568a86c8b"
