"""Operations on generated files: best-effort, and only on the content that was seen; and text that is no bullet."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tacitd.errors import FileRefusedError
from tacitd.files.log import Log
from tacitd.files.operations import (
    AppendBlock,
    Effect,
    Operation,
    PutLine,
    RewriteFile,
    WithdrawFile,
    digest_of,
    read_operation,
)
from tacitd.files.transaction import History
from tacitd.testing import FakeClock

OLD, NEW = b"old\n", "new\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a generated file."""
    root = tmp_path.resolve() / "project"
    root.mkdir()
    (root / "made.md").write_bytes(OLD)
    return root


def history(root: Path) -> History:
    """The history as a new process loads it."""
    return History(Log(root.parent / "state" / "history.jsonl"), FakeClock())


def rewrite(path: Path, seen: bytes | None = OLD) -> RewriteFile:
    return RewriteFile(path, NEW, digest_of(seen))


def run(root: Path, *operations: Operation) -> tuple[Effect, ...]:
    """Run a transaction; the effects."""
    return history(root).run_transaction(root, operations, {}, os.urandom(4).hex()).effects


def test_what_was_seen_is_rewritten(root: Path) -> None:
    """Also a missing file, with its directories; twice has no further effect."""
    assert run(root, rewrite(root / "made.md"), rewrite(root / "a/b.md", None)) == (Effect("written"),) * 2
    assert (root / "made.md").read_text() == (root / "a/b.md").read_text() == NEW
    assert run(root, rewrite(root / "made.md"), WithdrawFile(root / "made.md", digest_of(OLD))) == ()
    assert run(root, WithdrawFile(root / "made.md", digest_of(NEW.encode()))) == (Effect("removed"),)
    assert not (root / "made.md").exists()


def test_what_a_person_changed_since_is_kept(root: Path) -> None:
    """The operation has no effect if the content is another one, or if the file is gone."""
    (root / "made.md").write_text("a person's\n")
    assert run(root, rewrite(root / "made.md"), WithdrawFile(root / "made.md", digest_of(OLD))) == ()
    (root / "made.md").unlink()
    assert run(root, rewrite(root / "made.md")) == () and not (root / "made.md").exists()


@pytest.mark.parametrize("how", ["directory", "link out", "outside", "parent is a file"])
def test_what_cannot_be_done_holds_nothing_up(root: Path, how: str) -> None:
    """The other operations of the transaction are carried out, and nothing waits."""
    path = root / "made.md"
    path.unlink()
    if how == "directory":
        path.mkdir()
    elif how == "link out":
        path.symlink_to(root.parent / "elsewhere")
    elif how == "outside":
        path = root.parent / "elsewhere"
    else:
        path.write_text("file")
        path = path / "below.md"
    put = PutLine(root / "LEARNED.md", "Coding", "a", "T")
    assert run(root, rewrite(path, None), put, WithdrawFile(path, "x")) == (Effect("put", heading="Coding"),)
    assert not (root.parent / "elsewhere").exists() and not history(root).pending


def test_what_fails_between_the_check_and_the_write_has_no_effect(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction is finished all the same."""
    running = history(root)
    begin = running._begin

    def break_then_return(*arguments: object) -> object:
        begun = begin(*arguments)  # type: ignore[arg-type]
        (root / "made.md").unlink()
        (root / "made.md").mkdir()
        return begun

    monkeypatch.setattr(running, "_begin", break_then_return)
    put = PutLine(root / "LEARNED.md", "Coding", "a", "T")
    done = running.run_transaction(root, [rewrite(root / "made.md"), put], {}, "k")
    assert [one.did for one in done.effects] == ["nothing", "put"] and done.state == "done"


def test_they_are_recorded_without_their_text_once_done(root: Path) -> None:
    """An unfinished one is finished from the log; a finished one does not keep its text in memory."""
    for each in (
        rewrite(root / "made.md"),
        WithdrawFile(root / "made.md", "x"),
        AppendBlock(root / "x", "a\n"),
    ):
        assert read_operation(json.loads(json.dumps(each.to_record()))) == each
    run(root, rewrite(root / "made.md"))
    (done,) = history(root).list_transactions(root)
    assert done.operations == (RewriteFile(root / "made.md", "", digest_of(OLD)),)


@pytest.mark.parametrize(
    ("before", "block", "after"),
    [
        (None, "text\n", b"text\n"),
        (b"- a\n", "text", b"- a\n\ntext\n"),
        (b"- a", "```\n- x\n```\n", b"- a\n\n```\n- x\n```\n"),
        (b"- a\r\n", "one\ntwo\n", b"- a\r\n\r\none\r\ntwo\r\n"),
        (b"one\ntwo\nthree\n", "two\nthree", b"one\ntwo\nthree\n"),
        (b"# T\n\n", "text", b"# T\n\ntext\n"),
    ],
)
def test_other_text_is_appended_once(before: bytes | None, block: str, after: bytes) -> None:
    """It is not part of a bullet above it, and is not appended again."""
    made, effect = AppendBlock(Path("x"), block).apply(before)
    assert made == after and effect.did == ("nothing" if before == after else "appended")
    assert AppendBlock(Path("x"), block).apply(made)[0] == made


@pytest.mark.parametrize("before", [b"```\ncode\n", b"<<<<<<< a\n", b"gr\xfc\n"])
def test_other_text_is_not_put_into_a_broken_file(before: bytes) -> None:
    """An open code fence would contain the fence that is appended."""
    with pytest.raises(FileRefusedError):
        AppendBlock(Path("x"), "```\nmake\n```").apply(before)
