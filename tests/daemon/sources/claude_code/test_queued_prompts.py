"""Rule 4: the messages that were typed while the model worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_transcripts import BEGUN, attached, drain, list_prompts, queue, read, said, spoken, typed, write
from tacitd.sources.transcript import Tail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def test_an_open_message_pins_the_end(path: Path) -> None:
    """CLAUDE_CODE section 6 rule 4: provisional; no position may pass it until it is decided."""
    first = typed("go", "u1")
    write(path, first, queue("enqueue", "use pnpm"), typed("later", "u2"))
    tail = read(path)
    assert (said(tail), tail.safe_end) == ([("typed", "go")], len(BEGUN + first))
    write(path, queue("remove", "use pnpm"))
    drain(tail)
    assert said(tail) == [("typed", "go"), ("queued", "use pnpm"), ("typed", "later")]
    assert tail.safe_end == tail.read_end


def test_removed_words_without_attachment(path: Path) -> None:
    """CLAUDE_CODE section 6 rule 4: in 2.1.7 to 2.1.42 they are nowhere else; the record may not contain the words."""
    write(path, spoken("Working."), queue("enqueue", "one"), queue("enqueue", "two"), queue("remove"))
    tail = read(path)
    assert said(tail) == [("queued", "one")]
    assert list_prompts(tail, 0)[0].context == "Working."
    assert list_prompts(tail, 0)[0].cwd == "/home/dev/p"


@pytest.mark.parametrize("delivered", [True, False])
def test_words_belong_to_the_directory_in_which_they_were_typed(path: Path, delivered: bool) -> None:
    """The session may be in another project when they are delivered, or when it ends."""
    write(path, typed("go", "u1", cwd="/home/dev/secret"), queue("enqueue", "the key is blue"))
    write(path, typed("done", "u2", cwd="/home/dev/open"), *([queue("remove")] if delivered else []))
    assert [(p.text, p.cwd) for p in list_prompts(released(path), 0)] == [
        ("go", "/home/dev/secret"),
        ("the key is blue", "/home/dev/secret"),
        ("done", "/home/dev/open"),
    ]


@pytest.mark.parametrize("source", [{"source_uuid": "q1"}, {}])
def test_remove_and_attachment_are_one(path: Path, source: dict[str, str]) -> None:
    """CLAUDE_CODE section 6 rules 4 and 5: the same uuid, or the same words within ten minutes."""
    named = {"commandUuid": "q1"} if source else {}
    write(
        path,
        spoken("Working."),
        queue("enqueue", "stop"),
        queue("remove", "stop", **named),
        attached("stop", "a1", **source),
    )
    assert [p.uuid for p in list_prompts(read(path), 0)] == ["q1" if source else ""]


def released(path: Path) -> Tail:
    tail = read(path)
    tail.assembler.release_queued()
    return tail


def test_words_given_out_are_not_given_again(path: Path) -> None:
    """DESIGN "Consumers": a committed prompt is not paid for twice, also if the user line comes an hour later."""
    write(path, spoken("Working."), queue("enqueue", "one"))
    tail = released(path)
    write(path, queue("dequeue"), typed("one", "u1", timestamp="2026-11-20T11:30:00.000Z"))
    drain(tail)
    assert said(tail) == [("queued", "one")]


def test_a_message_before_the_start_pins_nothing(path: Path) -> None:
    """DESIGN "Sources": what is before a position was handled when the position moved there."""
    before = queue("enqueue", "one")
    write(path, before, typed("two", "u2"), queue("remove", "one"))
    tail = read(path, len(BEGUN + before))
    assert (said(tail), tail.safe_end) == ([("typed", "two")], tail.read_end)


def test_a_queue_is_bounded(path: Path) -> None:
    """RELIABILITY row 9: memory is bounded; the oldest messages count as said, and none is lost."""
    write(path, spoken("Working."), *(queue("enqueue", f"m{n}") for n in range(1500)))
    assert len(list_prompts(released(path), 0)) == 1500


NOTE = "<task-notification>done"
TALKS: dict[str, tuple[list[bytes], list[tuple[str, str]]]] = {
    # CLAUDE_CODE section 5.1: order in the file is not time order.
    "an attachment before its remove": (
        [queue("enqueue", "stop"), attached("stop", "a1"), queue("remove", "stop")],
        [("queued", "stop")],
    ),
    "dequeue, then the same text as a user line": (
        [queue("enqueue", "next"), queue("dequeue", "next"), typed("next", "u1")],
        [("typed", "next")],
    ),
    "a dequeue that does not name its message": (
        [queue("enqueue", "next"), queue("dequeue"), typed("next", "u1")],
        [("typed", "next")],
    ),
    # The user line says which message a dequeue took, of those with other priorities and of notifications.
    "priorities and notifications": (
        [
            *[queue("enqueue", text) for text in (NOTE, "mine", "kept")],
            *[queue("dequeue"), typed("mine", "u1")],
            *[queue("dequeue"), typed(NOTE, "u2", origin={"kind": "task-notification"})],
            queue("remove"),
        ],
        [("queued", "kept"), ("typed", "mine")],
    ),
    "one taken back for editing": (
        [spoken("Working."), *[queue("enqueue", text) for text in ("one", "two")], queue("popAll", "one")],
        [("queued", "two")],
    ),
    "all taken back for editing": (
        [spoken("Working."), *[queue("enqueue", text) for text in ("one", "two")], queue("popAll")],
        [],
    ),
    # SIGKILL with words in the queue: they were typed.
    "left in the queue": (
        [spoken("Working."), *[queue("enqueue", text) for text in ("one", "two")], queue("dequeue")],
        [("queued", "two")],
    ),
    "a program's session": (
        [typed("RUN", "u1", entrypoint="sdk-cli"), queue("enqueue", "more"), queue("remove", "more")],
        [],
    ),
    # DESIGN "Priorities", 1: words that are only in a remove are not lost.
    "a remove whose message was taken for another": (
        [spoken("Working."), queue("remove", "said somewhere", commandUuid="q1")],
        [("queued", "said somewhere")],
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_what_of_a_queue_was_said(path: Path, name: str) -> None:
    """CLAUDE_CODE section 6 rule 4, at the end of the session."""
    lines, expected = TALKS[name]
    write(path, *lines)
    tail = released(path)
    assert sorted(said(tail)) == expected and tail.safe_end == tail.read_end
