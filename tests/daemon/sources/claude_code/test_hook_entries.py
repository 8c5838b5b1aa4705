"""tacitd's entries in settings.json: exactly ours come and go, and hostile files are refused whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.errors import FileRefusedError
from tacitd.sources.base import SessionHint
from tacitd.sources.claude_code.hook_entries import PROGRAM, ClaudeCodeHooks
from tacitd.sources.claude_code.hook_events import EVENTS, NEWER_EVENTS

HOOKS = ClaudeCodeHooks()
COMMAND = f"/usr/bin/python3 -I -S /home/ada/{PROGRAM} /run/s 2>/dev/null || true"
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "notify-send done", "timeout": 3}]}
GROUPS = st.lists(
    st.sampled_from([THEIRS, {"hooks": []}, {"hooks": [{"type": "prompt"}]}, {}, 7, "x"]),
    min_size=1,
    max_size=3,
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.text(max_size=3),
        "permissions": st.just({"allow": ["Bash(ls)"]}),
        "hooks": st.dictionaries(st.sampled_from([*EVENTS, "PostToolUse"]), GROUPS, min_size=1, max_size=3),
        "statusLine": st.just({"type": "command", "command": f"x {PROGRAM}-not"}),
    },
)


@examples(150)
@given(
    SETTINGS,
    st.sampled_from([2, 4, "\t", None]),
    st.sampled_from(["", "\ufeff"]),
    st.sampled_from(["", "\n"]),
)
def test_installing_and_removing_leaves_the_same_bytes(
    settings: dict[str, Any], indent: Any, mark: str, end: str
) -> None:
    """Whatever else is in the file, in whatever style; installing twice is installing once."""
    text = mark + json.dumps(settings, indent=indent) + end
    added = HOOKS.add_entries(text, COMMAND)
    assert sorted(entry.event for entry in HOOKS.list_entries(added)) == sorted(EVENTS)
    assert HOOKS.add_entries(added, COMMAND) == added
    document = json.loads(added.removeprefix("\ufeff"))
    for event in EVENTS:
        ours = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 5}]}
        assert document["hooks"][event] == [*settings.get("hooks", {}).get(event, ()), ours]
    assert {key: value for key, value in document.items() if key != "hooks"} == {
        key: value for key, value in settings.items() if key != "hooks"
    }
    assert HOOKS.remove_entries(added) == (text if settings else f"{mark}{{}}{end}")


def test_newer_clients_do_not_wait_where_nothing_is_printed() -> None:
    """Only for events without output, and only where every client knows it; removing takes these entries out too."""
    added = HOOKS.add_entries("{}\n", COMMAND, (*EVENTS, *NEWER_EVENTS))
    hooks = json.loads(added)["hooks"]
    assert set(hooks) == {*EVENTS, *NEWER_EVENTS}
    beside = {event for event, groups in hooks.items() if groups[0]["hooks"][0].get("async")}
    assert beside == {"UserPromptSubmit", "Stop"}
    assert '"async"' not in HOOKS.add_entries("{}\n", COMMAND)
    assert HOOKS.remove_entries(added) == "{}\n"


def test_entries_of_an_older_version_are_replaced() -> None:
    """Also doubled ones, one in a group with a person's hook, and one of an event that is not used any more."""
    old = {"type": "command", "command": f"python3 /old/{PROGRAM} /s"}
    theirs = {"type": "command", "command": "beep"}
    text = json.dumps(
        {"hooks": {"Stop": [{"hooks": [theirs, old]}, {"hooks": [old]}], "Notification": [{"hooks": [old]}]}},
        indent=2,
    )
    new = HOOKS.add_entries(text, COMMAND)
    assert {entry.command for entry in HOOKS.list_entries(new)} == {COMMAND}
    assert len(HOOKS.list_entries(new)) == len(EVENTS)
    hooks = json.loads(new)["hooks"]
    assert hooks["Stop"][0] == {"hooks": [theirs]} and "Notification" not in hooks
    assert json.loads(HOOKS.remove_entries(new)) == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"hooks": [1]}',
        '{"hooks": {"Stop": {}}}',
        '{"model": "opus", // mine\n}',
        '{"model": "opus",}',
        '{"hooks": {}, "hooks": {}}',
        "[" * 100_000,
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    """Comments, a trailing comma, other structures: no guess is made about a person's settings."""
    with pytest.raises(FileRefusedError) as refused:
        HOOKS.add_entries(text, COMMAND)
    assert refused.value.hint
    with pytest.raises(FileRefusedError):
        HOOKS.remove_entries(text)


def test_what_a_hook_says() -> None:
    """CLAUDE_CODE.md 4.2: the exact inputs; anything else says nothing."""
    common = {"session_id": "2c79", "transcript_path": "/p/2c79.jsonl", "cwd": "/w"}
    ended = HOOKS.read_hint({**common, "hook_event_name": "SessionEnd", "reason": "other"})
    assert ended == SessionHint("2c79", Path("/p/2c79.jsonl"), ended=True)
    for event in EVENTS[:-1]:
        assert HOOKS.read_hint({**common, "hook_event_name": event}) == SessionHint(
            "2c79", Path("/p/2c79.jsonl"), ended=False, compacts=event == "PreCompact"
        )
    for odd in (
        {},
        {**common, "hook_event_name": "PreToolUse"},
        {**common, "hook_event_name": ["Stop"]},
        {**common, "hook_event_name": "Stop", "session_id": ""},
        {**common, "hook_event_name": "Stop", "session_id": "x" * 201},
        {**common, "hook_event_name": "Stop", "transcript_path": "relative.jsonl"},
        {**common, "hook_event_name": "Stop", "transcript_path": "/a\0b"},
        {**common, "hook_event_name": "Stop", "transcript_path": "/p/\ud800.jsonl"},
    ):
        assert HOOKS.read_hint(odd) is None
