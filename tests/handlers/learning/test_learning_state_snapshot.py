"""The snapshot of learning's state contains everything that its commits amount to."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import LogDamagedError
from tacitd.files.purge import blank_value
from tacitd.handler import Commit
from tacitd.work.commit_rows import SNAPSHOT
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.learning.state_snapshot import decode_state, encode_state, fold_commits
from tacitd_handlers.shared.equality import FORM, normalise_text

LINES = st.sampled_from(["Use tabs", "Prefers pnpm", "Use the tab key", "Never push"])
SOME = st.lists(LINES, max_size=3, unique=True)
IDS = st.sampled_from(["b1", "b2", "b3"])
WAITING = st.builds(
    lambda id, new: {"id": id, "session": "s", "prompts": ["u1"], "new": new, "marks": [], "folders": []},
    IDS,
    SOME,
)


@st.composite
def commits(draw: st.DrawFn) -> dict[str, Any]:
    """The data of one commit of any kind."""
    data: dict[str, Any] = {"project": draw(st.sampled_from(["/p", "/q"]))}
    match draw(st.sampled_from(["batch", "skipped", "synthesis", "aside", "tombstone", "summary"])):
        case "batch":
            new = draw(SOME)
            data |= {"kind": "batch", "id": draw(IDS), "prompts": ["u1", "u2"], "times": [1.0, None]}
            data |= {"new": new, "again": draw(SOME), "folders": ["/p/api"], "words": ["tabs"], "usd": 0.1}
            data |= {"corrected_again": draw(SOME), "seen": 2, "asked": 2}
            data |= {"facts": len(new), "marks": [["corrected"] for _ in new], "left_out": {"why": 1}}
        case "skipped":
            data |= {"kind": "skipped", "seen": 3, "why": "off"}
        case "synthesis":
            put = draw(SOME)
            data |= {"kind": "synthesis", "batches": draw(st.lists(IDS)), "lines": len(put), "put": put}
            data |= {"swapped": dict.fromkeys(put[:1], "Use tabs"), "again": draw(SOME), "sessions": ["s"]}
            data |= {"origins": {line: {"said": 2, "corrections": 1, "prompts": ["u1"]} for line in put}}
            data |= {"left_out_facts": [{"fact": line, "said": 2} for line in draw(SOME)], "used": draw(SOME)}
            data |= {"reworded": draw(SOME), "conflicts": {line: ["AGENTS.md", "x"] for line in draw(SOME)}}
            data |= {"merged": dict.fromkeys(draw(SOME), "Never push"), "read": {"raw": 7}}
            data |= {"withheld": {"w": "LEARNED.md"}, "waits": draw(st.lists(WAITING, max_size=2))}
        case "aside":
            data |= {"kind": "aside", "files": ["x.dead.jsonl"], "reason": "no answer", "unfiled": ["b9"]}
            data |= {"batches": draw(st.lists(IDS))}
        case "tombstone":
            data |= {"kind": "tombstone", "removed": {"LEARNED.md": draw(SOME)}, "head": "abc"}
            data |= {
                "lifted": {"LEARNED.md": draw(SOME)},
                "looks": {"LEARNED.md": {"lines": draw(SOME), "at": 5}},
            }
        case _:
            data |= {"kind": "summary"}
    return data


def known(state: LearningState) -> dict[str, Any]:
    """Every field, with the order of dictionaries that has a meaning."""
    values = {name: getattr(state, name) for name in state.__struct_fields__}
    ordered = {name: [list(each) for each in values[name].values()] for name in ("left_out",)}
    del values["normals"]  # made when they are asked for
    return values | {"ordered": ordered, "synthesised": list(state.synthesised)}


@examples(150)
@given(st.lists(commits(), max_size=12), st.integers(0, 12))
def test_a_snapshot_takes_the_place_of_the_commits_before_it(made: list[dict[str, Any]], at: int) -> None:
    """Whatever the commits are, and wherever the snapshot is taken."""
    every = [Commit(1000.0 + number, "Due", "", "s", -1, data) for number, data in enumerate(made)]
    data = json.loads(json.dumps(encode_state(fold_commits(every[:at]))))
    snapshot = Commit(2000.0, SNAPSHOT, "", "", -1, data)
    assert known(fold_commits([snapshot, *every[at:]])) == known(fold_commits(every))


def test_every_field_of_the_state_is_in_it() -> None:
    """A new field that nobody stores would be empty after each compaction."""
    names = set(LearningState.__struct_fields__)
    assert set(encode_state(LearningState())) == names | {"form"}
    for name in names - {"asked_since_fact", "set_aside"}:
        with pytest.raises(ValueError):
            decode_state({name: 7})


def test_a_snapshot_that_cannot_be_read_is_not_an_empty_state() -> None:
    """Everything that was learned would be forgotten."""
    with pytest.raises(LogDamagedError):
        fold_commits([Commit(1.0, SNAPSHOT, "", "", -1, {"waiting": [1]})])
    assert decode_state({"of a newer version": 1}) == LearningState()


def test_what_lines_say_is_only_known_to_those_who_find_the_same() -> None:
    """Another version may take other lines for the same. Otherwise no line is normalised again."""
    put = {"kind": "synthesis", "project": "/p", "put": ["Use tabs", "Never push"]}
    state = fold_commits([Commit(1.0, "Due", "", "s", -1, put)])
    data = encode_state(state)
    assert decode_state(data).normals == {line: state.find_normal(line) for line in put["put"]}
    assert decode_state(data | {"form": 0}).normals == {}
    assert state.find_normal("Use spaces") != state.find_normal("Use tabs") == state.find_normal("use tabs.")


@pytest.mark.parametrize("is_earlier", [False, True])
def test_a_purge_finds_the_words_of_a_fact_that_was_left_out(*, is_earlier: bool) -> None:
    """They are in the snapshot as they were said, and in no other form. One of an earlier version is read too."""
    fact = "Prefer Topaz77 over the Jewels."
    data = {
        "kind": "synthesis",
        "project": "/w",
        "batches": [],
        "left_out_facts": [{"fact": fact, "said": 2}],
    }
    state = fold_commits([Commit(1.0, "Due", "", "synthesize", -1, data)])
    stored = json.loads(json.dumps(encode_state(state)))
    if is_earlier:
        stored["left_out"]["/w"] = {normalise_text(fact): one for one in stored["left_out"]["/w"].values()}
    again = decode_state(stored)
    assert known(again) == known(state)
    purged = json.dumps(blank_value(json.loads(json.dumps(encode_state(again))), [fact])).casefold()
    assert "topaz77" not in purged and '"said": 2' in purged
    later = Commit(2.0, "Due", "", "synthesize", -1, data | {"left_out_facts": [], "used": [fact]})
    again.fold_commit(later)
    assert not any(again.left_out.values())


def test_the_form_is_raised_with_the_rules() -> None:
    """If this fails, `normalise_text` has other rules: raise `FORM`, and put the new digest here."""
    lines = [
        "Prefers functions over classes.",
        "don't use npm, use pnpm",
        "- **Use** the Ports 8080, 1.5",
        "Tabs\u2019",
    ]
    lines += [
        "Users avoid a/b tests",
        "\u4f7f\u7528\u5236\u8868\u7b26",
        "never push to main rather than dev",
        "It can't be C++",
        "You must use TLS",
    ]
    said = "\n".join(map(normalise_text, lines))
    assert (FORM, blake2b(said.encode(), digest_size=8).hexdigest()) == (2, "81bf5840e9a04d74")


def test_a_line_is_in_memory_once() -> None:
    """It is in several fields, and a year has 6,000 of them."""
    put = {"kind": "synthesis", "project": "/p", "put": ["Use tabs"], "again": ["Use tabs"]}
    data = json.loads(json.dumps(encode_state(fold_commits([Commit(1.0, "Due", "", "s", -1, put)]))))
    state = decode_state(data)
    (line,) = state.normals
    (places,) = (table.keys() for table in state.line_confidences.values())
    assert line == "Use tabs" and all(each is line for each in places)
    assert len(places) == 1


def test_a_fold_leaves_no_index_of_the_words() -> None:
    """After a year it took 3 MB from each start on, for a question that a project asks a few times a day."""
    commits = [
        Commit(
            float(at),
            "Due",
            "",
            "s",
            -1,
            {"kind": "synthesis", "project": "/p", "put": [line], "again": [line]},
        )
        for at, line in enumerate(["Use tabs", "Use pnpm", "Use C++"])
    ]
    state = LearningState()
    for commit in commits:
        state.fold_commit(commit)
    assert [table._index is None for table in state.line_confidences.values()] == [False], "it was needed"
    (lines,) = fold_commits(commits).line_confidences.values()
    assert lines._index is None and lines.find_equal("use tabs.") == "Use tabs"
