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


def enqueued(content: str | None = None, operation: str = "enqueue") -> PromptVerdict:
    more = {} if content is None else {"content": content}
    return verdict(type="queue-operation", operation=operation, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


ZAP = "<command-name>/zap</command-name>"
FLAGS = "isMeta isCompactSummary isVisibleInTranscriptOnly isVirtual textNotTyped handedOff"
PROGRAMS = (
    "task-notification channel peer coordinator observer observer-activity auto-continuation unclassified"
)
NOTICE = "<task-notification>\n<task-id>1"
ODD: list[object] = [[], "x", 5, {"q": 3}, {"q": None}, None]
NOBODY: list[tuple[int, PromptVerdict]] = [
    # A sub-agent's prompts are the main model's.
    *[(1, user("SUBTASK1 please", **flag)) for flag in ({"isSidechain": True}, {"agentId": "a1"})],
    # Other types contain no person's words, or copies.
    *[
        (2, verdict(type=kind, message={"role": "user", "content": "copied words"}, content="copied"))
        for kind in ("assistant", "system", "last-prompt", "summary", "api-request-blob", "progress")
    ],
    # A program's prompt, or tacitd's own: each guard alone, the sentinel in each kind of record.
    (3, user("hello", entrypoint="sdk-cli", promptSource="sdk")),
    (3, user("hello", entrypoint="sdk-ts")),
    (3, user("hello", entrypoint="sdk-py")),
    (3, user("hello", promptSource="sdk")),
    (3, user("hello", turnOrigin="sdk")),
    (3, user("hello", sessionId="own-session")),
    (3, user("hello", cwd="/state/claude")),
    (3, user("hello", cwd="/state/claude/deeper")),
    (3, user("tacitd asks: what")),
    (3, user([text("tacitd asks: what")])),
    (3, enqueued("tacitd asks: what")),
    (3, queued_command("tacitd asks: what")),
    # Notifications are in the same queue.
    (4, enqueued()),
    (4, enqueued(NOTICE)),
    (4, enqueued("<agent-notification>x")),
    *[(4, enqueued("use pnpm", operation)) for operation in ("dequeue", "remove", "popAll")],
    # Another mode, another origin, isMeta, another kind of attachment.
    (5, queued_command("words", commandMode="task-notification")),
    (5, queued_command("words", origin={"kind": "peer"})),
    (5, queued_command("words", isMeta=True)),
    (5, queued_command("words", type="file")),
    (5, queued_command(NOTICE)),
    (6, queued_command("words", line={"isMeta": True})),
    (7, queued_command("words", line={"origin": {"kind": "channel"}})),
    # Skill bodies, caveats, summaries, wake-ups.
    *[(6, user("Do zap", **{flag: True})) for flag in FLAGS.split()],
    (6, user("Do zap", wakeupSource="loop")),
    (6, user("Do zap", scheduledTaskId="t1")),
    (6, user("Do zap", queueSkipAttachments=True)),
    (6, user("Do zap", sourceToolUseID="t1")),
    # An origin that is not human; older clients name none.
    *[(7, user("words", origin={"kind": kind})) for kind in PROGRAMS.split()],
    (7, user("words", promptSource="system")),
    (7, user("<teammate-message from=a>x")),
    (7, user('<cross-session-message from="a">x')),
    (7, user("<channel source=a>x")),
    # A result, also when it fails or is a list; a tool that prints a transcript; malformed answers.
    (8, result("output")),
    (8, result("Exit code 3", True)),
    (8, result([text("x")])),
    (8, result(REJECTED + "x")),
    (8, result("Exit code 1\n" + REJECTED + "x", True)),
    *[(8, result("x", toolUseResult={"answers": odd})) for odd in ODD],
    (8, result("out", False, text("<system-reminder>x</system-reminder>"))),
    (8, result("out", False, text("[Request interrupted by user for tool use]"))),
    # `/clear` has no words; 1.0 wrote no arguments element.
    (10, user(f"{ZAP}\n<command-message>zap</command-message>\n<command-args></command-args>")),
    (10, user(f"{ZAP}\n<command-message>zap</command-message>\n")),
    *[
        (12, user(content))
        for words in (
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
        )
        for content in (words, [text(words)])
    ],
    # Consent, not words.
    (13, user("go", planContent="# Plan")),
    (13, user("Implement the following plan:\n\n# Plan")),
    *[(14, user(content)) for content in ("", "  \n", [], [{"type": "image"}], None, 5)],
]


@pytest.mark.parametrize(("rule", "found"), NOBODY)
def test_what_no_person_said(rule: int, found: PromptVerdict) -> None:
    """CLAUDE_CODE section 6, rule by rule; section 13: malformed shapes never raise."""
    assert (found.rule, found.words) == (rule, ()) and found.reason


BLOCKS = [text("like this"), {"type": "image", "source": {}}]
MARKED = "<command-message>zap</command-message>"
ARGS = "<command-args>the thing</command-args>"
SAID: list[tuple[int, PromptVerdict, list[tuple[str, str]]]] = [
    (14, user("why is it that tacitd asks: so much"), [("typed", "why is it that tacitd asks: so much")]),
    # If entrypoint is present, it decides, not promptSource: people use the SDK's transport too.
    *[
        (14, user("hi", entrypoint=entrypoint, promptSource="sdk"), [("typed", "hi")])
        for entrypoint in ("cli", "claude-vscode", "claude-desktop")
    ],
    (4, enqueued("use pnpm"), [("queued", "use pnpm")]),  # the person, provisionally
    # Section 5.3: the exact line of 2.1.328, and without the newer fields; with a picture it is a list of blocks.
    (5, queued_command("mid", commandMode="prompt", origin={"kind": "human"}), [("queued", "mid")]),
    (5, queued_command("mid"), [("queued", "mid")]),
    (5, queued_command(BLOCKS), [("queued", "like this")]),
    *[
        (14, user("go", **{flag: None}), [("typed", "go")])
        for flag in ("isMeta", "isVirtual", "wakeupSource")
    ],
    (14, user("words", origin={"kind": "human"}, promptSource="typed"), [("typed", "words")]),
    # The text after the marker of a rejection; content is a string or a list.
    (8, result(REJECTED + "no\nnot npm", True, toolUseResult="Error: x"), [("reject-words", "no\nnot npm")]),
    (8, result([text(REJECTED + "no")], True), [("reject-words", "no")]),
    # Mid-turn words of 2.1.19 to 2.1.37; a rejection with words, and other words beside it: none is lost for another.
    (8, result("out", False, text("also run the tests")), [("steer", "also run the tests")]),
    (8, result(REJECTED + "no", True, text("there")), [("reject-words", "no"), ("steer", "there")]),
    # Both orders; only the arguments are words.
    (10, user(f"{ZAP}\n  {MARKED}\n  {ARGS}"), [("command", "the thing")]),
    (10, user(f"{MARKED}\n{ZAP}\n{ARGS}"), [("command", "the thing")]),
    (10, user(f"{ZAP}{ARGS}{MARKED}"), [("command", "the thing")]),
    (11, user("<bash-input>echo bashmode</bash-input>"), [("bash", "echo bashmode")]),
    # A string, or text blocks joined with newlines, without the client's own.
    (14, user("use pnpm"), [("typed", "use pnpm")]),
    (14, user([text("one"), {"type": "image"}, text("two")]), [("typed", "one\ntwo")]),
    (14, user([text("one"), text("[Request interrupted by user]")]), [("typed", "one")]),
]


@pytest.mark.parametrize(("rule", "found", "expected"), SAID)
def test_what_a_person_said(rule: int, found: PromptVerdict, expected: list[tuple[str, str]]) -> None:
    """CLAUDE_CODE section 6, rule by rule."""
    assert (found.rule, said(found)) == (rule, expected)


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


@pytest.mark.parametrize("tag", ["<ide_opened_file>", "<ide_selection>", "<system-reminder>"])
def test_rule_9_context_blocks(tag: str) -> None:
    """CLAUDE_CODE section 6 rule 9: the block is skipped, the next one is checked."""
    context = text(f"{tag}x")
    assert said(user([context, text("fix it")])) == [("typed", "fix it")]
    assert said(user([context, text("<bash-input>ls</bash-input>")])) == [("bash", "ls")]
    assert (user([context]).rule, user([context]).words) == (9, ())


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
    hostile = '<pasted_content id="1">' * 100_000
    assert own_words(hostile) == (hostile, 0)


@examples(100)
@given(st.text(max_size=80))
def test_plain_text_is_taken_as_it_is(words: str) -> None:
    """DESIGN "Priorities", 1: no word that a person typed is lost."""
    whole = "a " + words.replace("<", "(") + " z"
    assert said(user(whole)) == [("typed", whole)]
