"""The fourteen rules of CLAUDE_CODE section 6, one test or more for each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_transcripts import REJECTION
from tacitd.sources.claude_code.prompt_text import own_words
from tacitd.sources.claude_code.prompts import judge_line
from tacitd.sources.claude_code.records import decode_line
from tacitd.sources.source import OwnCalls, PromptVerdict

OWN = OwnCalls(cwd="/state/claude", sentinel="tacitd asks:", sessions={"own-session"})
REJECTED = f"{REJECTION} To tell you how to proceed, the user said:\n"
ASKED = {"t": "AskUserQuestion"}
"""The call whose result `result` writes."""


def verdict(**fields: Any) -> PromptVerdict:
    line = decode_line(json.dumps({"sessionId": "s", "cwd": "/p"} | fields).encode())
    assert line is not None
    return judge_line(line, OWN, ASKED)


def user(content: object, **fields: Any) -> PromptVerdict:
    return verdict(type="user", message={"role": "user", "content": content}, **fields)


def said(found: PromptVerdict) -> list[tuple[str, str]]:
    return [(words.kind, words.text) for words in found.words]


def result(content: object, error: bool = False, *beside: object, **fields: Any) -> PromptVerdict:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": error}
    return user([block, *beside], **fields)


def queued_command(prompt: object, **attachment: Any) -> PromptVerdict:
    more = attachment.pop("line", {})
    return verdict(
        type="attachment", attachment={"type": "queued_command", "prompt": prompt} | attachment, **more
    )


@pytest.mark.parametrize("flag", [{"isSidechain": True}, {"agentId": "a1"}])
def test_rule_1_sub_agents(flag: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 1: a sub-agent's prompts are the main model's."""
    found = user("SUBTASK1 please", **flag)
    assert (found.rule, found.words) == (1, ())


@pytest.mark.parametrize(
    "kind", ["assistant", "system", "last-prompt", "summary", "api-request-blob", "progress"]
)
def test_rule_2_other_types(kind: str) -> None:
    """CLAUDE_CODE section 6 rule 2: other types contain no person's words, or copies."""
    found = verdict(type=kind, message={"role": "user", "content": "copied words"}, content="copied")
    assert (found.rule, found.words) == (2, ())


@pytest.mark.parametrize(
    "fields",
    [
        {"entrypoint": "sdk-cli", "promptSource": "sdk"},
        {"entrypoint": "sdk-ts"},
        {"entrypoint": "sdk-py"},
        {"promptSource": "sdk"},
        {"turnOrigin": "sdk"},
        {"sessionId": "own-session"},
        {"cwd": "/state/claude"},
        {"cwd": "/state/claude/deeper"},
    ],
)
def test_rule_3_programs_and_our_own_calls(fields: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 3: a program's prompt, or tacitd's own (each guard alone)."""
    found = user("hello", **fields)
    assert (found.rule, found.words) == (3, ())


def test_rule_3_our_own_prompt_by_its_beginning() -> None:
    """CLAUDE_CODE section 6 rule 3: the sentinel, in a user line, in the queue, in an attachment."""
    assert user("tacitd asks: what").rule == 3
    assert user([{"type": "text", "text": "tacitd asks: what"}]).rule == 3
    assert verdict(type="queue-operation", operation="enqueue", content="tacitd asks: what").rule == 3
    assert queued_command("tacitd asks: what").rule == 3
    assert said(user("why is it that tacitd asks: so much")) != []


@pytest.mark.parametrize("entrypoint", ["cli", "claude-vscode", "claude-desktop"])
def test_rule_3_people_use_the_sdk_transport_too(entrypoint: str) -> None:
    """CLAUDE_CODE section 6 rule 3: if entrypoint is present, it decides, not promptSource."""
    assert said(user("hi", entrypoint=entrypoint, promptSource="sdk")) == [("typed", "hi")]


def test_rule_4_enqueued_words() -> None:
    """CLAUDE_CODE section 6 rule 4: enqueue with content is the person, provisionally."""
    found = verdict(type="queue-operation", operation="enqueue", content="use pnpm")
    assert (found.rule, said(found)) == (4, [("queued", "use pnpm")])


@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "enqueue"},
        {"operation": "enqueue", "content": "<task-notification>\n<task-id>1"},
        {"operation": "enqueue", "content": "<agent-notification>x"},
        {"operation": "dequeue"},
        {"operation": "remove", "content": "use pnpm"},
        {"operation": "popAll", "content": "use pnpm"},
    ],
)
def test_rule_4_bookkeeping_and_notifications(fields: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 4: notifications are in the same queue."""
    found = verdict(type="queue-operation", **fields)
    assert (found.rule, found.words) == (4, ())


def test_rule_5_mid_turn_attachment() -> None:
    """CLAUDE_CODE section 6 rule 5, section 5.3: the exact line of 2.1.328, and without the newer fields."""
    for more in ({"commandMode": "prompt", "origin": {"kind": "human"}}, {}):
        found = queued_command("mid-turn words", **more)
        assert (found.rule, said(found)) == (5, [("queued", "mid-turn words")])


def test_rule_5_prompt_as_blocks() -> None:
    """CLAUDE_CODE section 6 rule 5: with a picture the prompt is a list of blocks."""
    blocks = [{"type": "text", "text": "like this"}, {"type": "image", "source": {}}]
    assert said(queued_command(blocks)) == [("queued", "like this")]


@pytest.mark.parametrize(
    "attachment",
    [{"commandMode": "task-notification"}, {"origin": {"kind": "peer"}}, {"isMeta": True}, {"type": "file"}],
)
def test_rule_5_what_the_client_attached(attachment: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 5: another mode, another origin, isMeta, another kind of attachment."""
    found = queued_command("words", **attachment)
    assert (found.rule, found.words) == (5, ())
    assert queued_command("<task-notification>\nx").words == ()
    for line in ({"isMeta": True}, {"origin": {"kind": "channel"}}):
        assert queued_command("words", line=line).words == ()


@pytest.mark.parametrize(
    "flag",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"isVirtual": True},
        {"textNotTyped": True},
        {"handedOff": True},
        {"wakeupSource": "loop"},
        {"scheduledTaskId": "t1"},
    ],
)
def test_rule_6_flags(flag: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 6: skill bodies, caveats, summaries, wake-ups."""
    found = user("Do zap with the thing", **flag)
    assert (found.rule, found.words) == (6, ())
    assert said(user("typed", **{next(iter(flag)): None})) == [("typed", "typed")]


@pytest.mark.parametrize(
    "kind",
    ["task-notification", "channel", "peer", "coordinator", "observer", "observer-activity",
     "auto-continuation", "unclassified"],
)  # fmt: skip
def test_rule_7_other_origins(kind: str) -> None:
    """CLAUDE_CODE section 6 rule 7: an origin that is not human."""
    found = user("words", origin={"kind": kind})
    assert (found.rule, found.words) == (7, ())


def test_rule_7_prompt_source_system() -> None:
    """CLAUDE_CODE section 6 rule 7: promptSource system; human origin is a person."""
    assert user("words", promptSource="system").rule == 7
    assert said(user("words", origin={"kind": "human"}, promptSource="typed")) == [("typed", "words")]


def test_rule_7_messages_of_other_sessions() -> None:
    """CLAUDE_CODE section 6 rule 12: older clients name no origin."""
    for text in ("<teammate-message from=a>x", '<cross-session-message from="a">x', "<channel source=a>x"):
        found = user(text)
        assert (found.rule, found.words) == (7, ())


def test_rule_8_a_tools_result() -> None:
    """CLAUDE_CODE section 6 rule 8, else: a result contains no person's words, also when it fails or is a list."""
    for found in (result("output"), result("Exit code 3", True), result([{"type": "text", "text": "x"}])):
        assert (found.rule, found.words) == (8, ())


@pytest.mark.parametrize("as_list", [False, True])
def test_rule_8a_words_in_a_rejection(as_list: bool) -> None:
    """CLAUDE_CODE section 6 rule 8a: the text after the marker; content is a string or a list."""
    text = REJECTED + "no, use pnpm\nnot npm"
    found = result([{"type": "text", "text": text}] if as_list else text, True, toolUseResult="Error: x")
    assert (found.rule, said(found)) == (8, [("reject-words", "no, use pnpm\nnot npm")])


def test_rule_8a_boilerplate_is_not_said() -> None:
    """CLAUDE_CODE section 6 rule 8a: the client's own note and its "Chat about this" template."""
    note = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
    assert said(result(REJECTED + "later" + note, True)) == [("reject-words", "later")]
    chat = "The user wants to clarify these questions.\n    This means they may have additional information"
    assert result(REJECTED + chat, True).words == ()
    stop = (
        "The user doesn't want to proceed with this tool use. STOP what you are doing and wait for the user."
    )
    assert result(stop, True).words == ()
    editor = f"{REJECTION} The user provided the following reason for the rejection: too slow"
    assert said(result(editor, True)) == [("reject-words", "too slow")]


def test_rule_8a_only_in_rejections() -> None:
    """CLAUDE_CODE section 6 rule 8a: a tool that prints a transcript is not a rejection."""
    assert result(REJECTED + "x").words == ()
    assert result("Exit code 1\n" + REJECTED + "x", True).words == ()


def test_rule_8b_answers() -> None:
    """CLAUDE_CODE section 6 rule 8b: one prompt for each question, the question as context."""
    answers = {"Which colour?": "Red", "Which sizes?": ["S", "M"], "Why?": ""}
    notes = {"Which colour?": {"notes": "a dark one"}}
    tool = {"questions": [], "answers": answers, "annotations": notes}
    found = result("Your questions have been answered", toolUseResult=tool)
    assert [(w.kind, w.text, w.context) for w in found.words] == [
        ("answers", "Red\na dark one", "Which colour?"),
        ("answers", "S, M", "Which sizes?"),
    ]


@pytest.mark.parametrize("odd", [[], "x", 5, {"q": 3}, {"q": None}, None])
def test_rule_8b_odd_answers(odd: object) -> None:
    """CLAUDE_CODE section 13: malformed shapes never raise."""
    assert result("x", toolUseResult={"answers": odd}).words == ()


def test_rule_8c_text_beside_a_result() -> None:
    """CLAUDE_CODE section 6 rule 8c: mid-turn words of 2.1.19 to 2.1.37, without the client's own blocks."""
    found = result("out", False, {"type": "text", "text": "also run the tests"})
    assert (found.rule, said(found)) == (8, [("steer", "also run the tests")])
    for text in ("<system-reminder>x</system-reminder>", "[Request interrupted by user for tool use]"):
        assert result("out", False, {"type": "text", "text": text}).words == ()


def test_rule_8_loses_none_for_another() -> None:
    """DESIGN "Priorities", 1: a rejection with words, and other words beside it."""
    found = result(REJECTED + "not here", True, {"type": "text", "text": "over there"})
    assert said(found) == [("reject-words", "not here"), ("steer", "over there")]


@pytest.mark.parametrize("tag", ["<ide_opened_file>", "<ide_selection>", "<system-reminder>"])
def test_rule_9_context_blocks(tag: str) -> None:
    """CLAUDE_CODE section 6 rule 9: the block is skipped, the next one is checked."""
    context = {"type": "text", "text": f"{tag}x"}
    assert said(user([context, {"type": "text", "text": "fix it"}])) == [("typed", "fix it")]
    assert said(user([context, {"type": "text", "text": "<bash-input>ls</bash-input>"}])) == [("bash", "ls")]
    assert (user([context]).rule, user([context]).words) == (9, ())


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/zap</command-name>\n  <command-message>zap</command-message>\n"
        "  <command-args>the thing</command-args>",
        "<command-message>zap</command-message>\n<command-name>/zap</command-name>\n"
        "<command-args>the thing</command-args>",
        "<command-name>zap</command-name><command-args>the thing</command-args><command-message>z</command-message>",
    ],
)
def test_rule_10_command_arguments(text: str) -> None:
    """CLAUDE_CODE section 6 rule 10: both orders; only the arguments are words."""
    found = user(text)
    assert (found.rule, said(found)) == (10, [("command", "the thing")])


@pytest.mark.parametrize("args", ["<command-args></command-args>", ""])
def test_rule_10_no_arguments_no_words(args: str) -> None:
    """CLAUDE_CODE section 6 rule 10: `/clear` has no words; 1.0 wrote no arguments element."""
    found = user(f"<command-name>/clear</command-name>\n<command-message>clear</command-message>\n{args}")
    assert (found.rule, found.words) == (10, ())


def test_rule_11_shell_commands() -> None:
    """CLAUDE_CODE section 6 rule 11."""
    found = user("<bash-input>echo bashmode</bash-input>")
    assert (found.rule, said(found)) == (11, [("bash", "echo bashmode")])


@pytest.mark.parametrize(
    "text",
    [
        "<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>",
        "<local-command-stdout>x</local-command-stdout>",
        "<local-command-caveat>x",
        "<task-notification>x",
        "<user-memory-input>x</user-memory-input>",
        "[Request interrupted by user]",
        "[Request interrupted by user for tool use]",
        "[Tool result missing due to internal error]",
        "This session is being continued from a previous conversation that ran out",
        "Caveat: The messages below were generated",
        "Stop hook feedback:\n- x",
        "Operation stopped by hook: x",
        "Base directory for this skill: /x",
    ],
)
def test_rule_12_written_by_the_client(text: str) -> None:
    """CLAUDE_CODE section 6 rule 12: as a string and as a block."""
    for content in (text, [{"type": "text", "text": text}]):
        found = user(content)
        assert (found.rule, found.words) == (12, ())


@pytest.mark.parametrize("fields", [{"planContent": "# Plan"}, {}])
def test_rule_13_plans(fields: dict[str, Any]) -> None:
    """CLAUDE_CODE section 6 rule 13: consent, not words."""
    text = "go" if fields else "Implement the following plan:\n\n# Plan"
    found = user(text, **fields)
    assert (found.rule, found.words) == (13, ())


def test_rule_14_typed() -> None:
    """CLAUDE_CODE section 6 rule 14: a string, or text blocks joined with newlines."""
    assert said(user("use pnpm")) == [("typed", "use pnpm")]
    blocks = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    found = user(blocks)
    assert (found.rule, said(found)) == (14, [("typed", "one\ntwo")])
    assert said(
        user([{"type": "text", "text": "one"}, {"type": "text", "text": "[Request interrupted by user]"}])
    ) == [("typed", "one")]


@pytest.mark.parametrize("content", ["", "  \n", [], [{"type": "image"}], None, 5])
def test_rule_14_without_text(content: object) -> None:
    """CLAUDE_CODE section 13: user lines without text give nothing and break nothing."""
    found = user(content)
    assert (found.rule, found.words) == (14, ())
    assert found.reason


def test_pastes_are_marked_and_taken_out() -> None:
    """CLAUDE_CODE section 6, after the table: the exact form of 2.1.328; only typed words can become facts."""
    paste = '<pasted_content id="643d">\nline 0\nline 1\n</pasted_content id="643d">\n'
    found = user("before\n\n" + paste)
    assert [(w.text, w.pasted) for w in found.words] == [("before", 13)]
    both = user(f"before\n\n{paste}after\n" + paste.replace("643d", "9"))
    assert [(w.text, w.pasted) for w in both.words] == [("before\nafter", 26)]
    assert (user(paste).words, user(paste).reason) == ((), "only a marked paste")
    open_paste = 'see <pasted_content id="1"> here'
    assert said(user(open_paste)) == [("typed", open_paste)]


def test_private_parts_go_nowhere() -> None:
    """DESIGN "Model": the text between <private> and </private>; without a closing tag, to the end."""
    assert said(user("a <private>secret</private> b")) == [("typed", "a  b")]
    assert said(user("a <private>secret")) == [("typed", "a")]
    assert user("<PRIVATE>secret</PRIVATE>").reason == "only a private part"
    assert said(queued_command("x <private>y</private>")) == [("queued", "x")]
    assert said(user("<bash-input>echo <private>k</private></bash-input>")) == [("bash", "echo")]


def test_hostile_pastes_are_bounded() -> None:
    """RELIABILITY row 9: a hundred thousand opening tags do not take quadratic time."""
    text = '<pasted_content id="1">' * 100_000
    assert own_words(text) == (text, 0)


@examples(100)
@given(st.text(max_size=80))
def test_plain_text_is_taken_as_it_is(text: str) -> None:
    """DESIGN "Priorities", 1: no word that a person typed is lost."""
    found = user("a " + text.replace("<", "(") + " z")
    assert said(found) == [("typed", "a " + text.replace("<", "(") + " z")]
