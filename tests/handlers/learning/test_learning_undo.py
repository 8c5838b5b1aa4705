"""`tacitd undo` and what was learned: an undone line is gone, said again it is withheld, written again it is free."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, git, lines
from tacitd.errors import FileRefusedError, UsageError

TABS = "Prefers tabs"


def notice(bench: Bench) -> None:
    """The engine checks the sources once a minute; each that changed becomes an event."""
    bench.clock.advance(60.0)
    for path in bench.handler.sources(bench.project):
        bench.changed(path)


def undo_last(bench: Bench) -> str:
    """Undo the newest transaction that can be undone, as the person's command does; return its undo's id."""
    bench.clock.advance(1.0)
    newest = bench.history.list_transactions(bench.root)[-1]
    return bench.history.undo_transaction(newest.id).id


def undo_newest(bench: Bench) -> set[str]:
    """Undo the newest transaction that can be undone; return the lines that it had put and that stood before."""
    for past in reversed(bench.history.list_transactions(bench.root)):
        bench.clock.advance(1.0)
        with suppress(FileRefusedError, UsageError):
            done = bench.history.undo_transaction(past.id)
            pairs = zip(done.operations, done.effects, strict=True)
            taken = [operation.find_changed_lines(effect).taken for operation, effect in pairs]
            return {line for line in taken if line}
    return set()


def say_again(bench: Bench) -> None:
    """The same prompt in a later session."""
    bench.clock.advance(3600.0)
    bench.learn("use pnpm, not npm, I said", session=f"s{len(bench.model.asked)}")


def test_an_undone_line_is_not_written_again(bench: Bench) -> None:
    """SPEC S-28: it is withheld when it is said again, also after a restart."""
    bench.learn()
    undo_last(bench)
    notice(bench)
    assert bench.bullets == []
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1
    bench.restart()
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1


def test_an_undo_that_nobody_noticed_before_the_next_synthesis_counts(bench: Bench) -> None:
    """The check before a synthesis sees it too."""
    bench.learn()
    bench.answer((SYNTHESIS, lines(PNPM, TABS)), (EXTRACTION, f"{TABS}\nUse pnpm and never npm"))
    bench.type("tabs; and use pnpm, not npm", session="s2")
    undo_last(bench)
    bench.end("s2")
    assert bench.bullets == [TABS] and bench.status["withheld"] == 1


def test_an_undo_counts_although_git_knows_the_file_without_the_line(bench: Bench) -> None:
    """The content after the undo is what HEAD has, which says nothing about a removal; the command does."""
    bench.write = "shared"
    bench.put(".gitignore", "/tmp/\n/.claude/\n")
    bench.put("LEARNED.md", "# Learned Preferences\n\n## Coding\n")
    git(bench.root, "add", ".")
    git(bench.root, "commit", "-qm", "begin")
    bench.learn()
    notice(bench)
    undo_last(bench)
    notice(bench)
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1


def test_the_undo_of_an_undo_restores_the_line(bench: Bench) -> None:
    """It stands again, is free, and the person's removal counts again afterwards."""
    bench.learn()
    first = bench.history.list_transactions(bench.root)[-1]
    undone = undo_last(bench)
    notice(bench)
    bench.clock.advance(1.0)
    bench.history.undo_transaction(undone)
    notice(bench)
    assert bench.bullets == [PNPM]
    say_again(bench)
    assert bench.bullets == [PNPM] and bench.status["withheld"] == 0
    with pytest.raises(UsageError, match="restored"):
        bench.history.undo_transaction(first.id)


def test_a_line_that_the_person_wrote_again_is_theirs(bench: Bench) -> None:
    """A later check does not take it for undone."""
    bench.learn()
    undo_last(bench)
    notice(bench)
    bench.files.learned_file.write_text(f"# Learned Preferences\n\n## Coding\n- {PNPM}\n")
    notice(bench)
    notice(bench)
    say_again(bench)
    assert bench.bullets == [PNPM] and bench.status["withheld"] == 0


@examples(60)
@given(steps=st.lists(st.sampled_from(["learn", "undo", "edit", "remove", "notice", "restart"]), max_size=12))
def test_a_persons_bytes_survive_any_order_of_learning_and_undoing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    """Lines that the person wrote stay byte for byte, and no line of ours stands twice."""
    bench = Bench(tmp_path_factory.mktemp("undo"))
    ours = (PNPM, SHORT, TABS)
    theirs: list[str] = []
    undone: set[str] = set()
    for number, step in enumerate(steps, 1):
        file = bench.files.learned_file
        match step:
            case "learn":
                fact = ours[number % 3]
                bench.answer((SYNTHESIS, lines(fact)), (EXTRACTION, fact))
                bench.clock.advance(3600.0)
                bench.learn(f"{fact}, I said", session=f"s{number}")
            case "undo":
                undone = undo_newest(bench)
            case "edit" if file.exists():
                theirs.append(f"- mine {number}  \n")
                file.write_text(file.read_text() + theirs[-1])
            case "remove" if bench.bullets:
                gone = next((one for one in bench.bullets if one in ours), None)
                if gone:
                    file.write_text(file.read_text().replace(f"- {gone}\n", "", 1))
            case "notice":
                notice(bench)
            case "restart":
                bench.restart()
            case _:
                pass
        text = file.read_text() if file.exists() else ""
        assert all(line in text for line in theirs)
        if step == "undo":
            assert not undone & set(bench.bullets)
        assert len(set(bench.bullets)) == len(bench.bullets)
