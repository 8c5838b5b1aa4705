"""Which removals count as the user's, and which as git's. With real git commands."""

from __future__ import annotations

import pytest

from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, git, lines

TABS = "Prefers tabs"


def shared(bench: Bench) -> None:
    """A team's LEARNED.md: tracked, with one line of ours in its newest commit."""
    bench.write = "shared"
    bench.put(".gitignore", "/tmp/\n/.claude/\n")
    bench.put("LEARNED.md", "# Learned Preferences\n")
    git(bench.root, "add", ".")
    git(bench.root, "commit", "-qm", "begin")
    bench.learn()
    git(bench.root, "commit", "-qam", "learned")
    notice(bench)


def notice(bench: Bench) -> None:
    """The engine checks the sources once a minute; each that changed becomes an event."""
    bench.clock.advance(60.0)
    for path in bench.handler.sources(bench.project):
        bench.changed(path)


def take_out(bench: Bench, line: str = PNPM) -> None:
    """The user deletes the line."""
    text = bench.learned
    assert f"- {line}\n" in text
    bench.files.learned_file.write_text(text.replace(f"- {line}\n", ""))


def say_again(bench: Bench) -> None:
    """The same prompt in a later session."""
    bench.clock.advance(3600.0)
    bench.learn("use pnpm, not npm, I said; short answers, tabs", session=f"s{len(bench.model.asked)}")


def test_a_line_that_a_person_removed_is_not_written_again(bench: Bench) -> None:
    """SPEC S-28: the line is withheld, and `status` counts it."""
    bench.learn()
    take_out(bench)
    notice(bench)
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1
    bench.restart()
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1


def test_a_removal_that_nobody_noticed_before_the_session_ended_counts(bench: Bench) -> None:
    """SPEC S-28: the sources are checked once a minute, and a synthesis may run before that."""
    bench.learn()
    bench.answer((SYNTHESIS, lines(PNPM, TABS)), (EXTRACTION, f"{TABS}\nUse pnpm and never npm"))
    bench.type("tabs; and use pnpm, not npm", session="s2")
    take_out(bench)
    bench.end("s2")
    assert bench.bullets == [TABS] and bench.status["withheld"] == 1


def test_a_line_that_comes_back_is_free_again(bench: Bench) -> None:
    """SPEC S-28: its tombstone is lifted, and it is not withheld any more."""
    bench.learn()
    before = bench.files.learned_file.read_bytes()
    take_out(bench)
    notice(bench)
    say_again(bench)
    bench.files.learned_file.write_bytes(before)
    notice(bench)
    assert bench.status["withheld"] == 0
    bench.files.learned_file.unlink()
    notice(bench)
    say_again(bench)
    assert bench.bullets == [PNPM]


def test_what_is_said_otherwise_is_written_though_a_line_was_removed(bench: Bench) -> None:
    """SPEC S-28: only that line is withheld."""
    bench.answer((SYNTHESIS, lines(PNPM, SHORT)), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.type("use pnpm, not npm, and short answers")
    bench.end()
    take_out(bench)
    notice(bench)
    bench.answer((SYNTHESIS, lines(PNPM, TABS)), (EXTRACTION, f"{PNPM}\n{TABS}"))
    say_again(bench)
    assert bench.bullets == [SHORT, TABS]


def test_a_file_that_is_gone_as_a_whole_proves_nothing(bench: Bench) -> None:
    """SPEC S-28: `git clean`, a fresh clone and a moved folder have this effect."""
    bench.learn()
    bench.files.learned_file.unlink()
    notice(bench)
    say_again(bench)
    assert bench.bullets == [PNPM] and bench.status["withheld"] == 0


@pytest.mark.parametrize("how", ["checkout", "stash", "reset", "restore", "rebase", "revert"])
def test_what_git_took_away_is_no_word_of_a_persons(bench: Bench, how: str) -> None:
    """SPEC S-28: the line gets no tombstone, and may be learned again."""
    shared(bench)
    match how:
        case "checkout":
            git(bench.root, "checkout", "-q", "HEAD~1")
        case "stash":
            bench.answer((SYNTHESIS, lines(TABS)), (EXTRACTION, TABS))
            bench.learn("tabs", session="s2")
            git(bench.root, "stash", "-q")
        case "reset":
            git(bench.root, "reset", "-q", "--hard", "HEAD~1")
        case "restore":
            git(bench.root, "restore", "-q", "--source=HEAD~1", "LEARNED.md")
        case "rebase":
            git(bench.root, "checkout", "-q", "-b", "side", "HEAD~1")
            bench.put("other", "x")
            git(bench.root, "add", "other")
            git(bench.root, "commit", "-qm", "other")
        case "revert":
            git(bench.root, "revert", "--no-edit", "HEAD")
    gone = TABS if how == "stash" else PNPM
    assert gone not in bench.learned
    notice(bench)
    bench.answer((SYNTHESIS, lines(gone)), (EXTRACTION, gone))
    say_again(bench)
    assert gone in bench.bullets and bench.status["withheld"] == 0


def test_a_persons_removal_in_a_tracked_file_counts(bench: Bench) -> None:
    """SPEC S-28: HEAD has not moved, and git does not have this content."""
    shared(bench)
    take_out(bench)
    notice(bench)
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1


def test_commits_of_other_files_do_not_hide_a_persons_removal(bench: Bench) -> None:
    """SPEC S-28: each move of HEAD is checked when it happens, so a later removal is compared with the newest HEAD."""
    shared(bench)
    for number in range(3):
        bench.put("code.py", f"{number}\n")
        git(bench.root, "add", ".")
        git(bench.root, "commit", "-qm", f"work {number}")
        notice(bench)
    take_out(bench)
    notice(bench)
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1


def test_a_line_that_git_brings_back_lifts_its_tombstone(bench: Bench) -> None:
    """SPEC S-28."""
    shared(bench)
    take_out(bench)
    notice(bench)
    git(bench.root, "checkout", "-q", "--", "LEARNED.md")
    notice(bench)
    git(bench.root, "reset", "-q", "--hard", "HEAD~1")
    notice(bench)
    say_again(bench)
    assert bench.bullets == [PNPM]


def test_a_line_that_a_person_worded_anew_is_theirs(bench: Bench) -> None:
    """SPEC S-28: an edit with the same meaning is not a removal; the edited line is neither duplicated nor changed."""
    bench.learn()
    bench.files.learned_file.write_text(bench.learned.replace(PNPM, "*use* `pnpm`, never npm."))
    notice(bench)
    say_again(bench)
    assert bench.status["withheld"] == 0 and bench.bullets == ["*use* `pnpm`, never npm."]


def test_looking_without_news_writes_nothing_down(bench: Bench) -> None:
    """DESIGN "Priorities", 2: an unchanged file adds no record to the log."""
    shared(bench)
    before = bench.log.text
    for _ in range(5):
        notice(bench)
    assert bench.log.text == before


@pytest.mark.parametrize("restarted", [True, False])
def test_a_line_that_was_removed_unseen_is_not_known_when_a_session_begins(
    bench: Bench, restarted: bool
) -> None:
    """SPEC S-43: the file was not watched, so the summary is compared before a session's first prompts."""
    bench.learn()
    assert PNPM in bench.files.summary_file.read_text()
    take_out(bench)
    if restarted:
        bench.restart()
    bench.begin("s2")
    assert PNPM not in bench.files.summary_file.read_text()
    say_again(bench)
    assert bench.bullets == [] and bench.status["withheld"] == 1, "offered, and not dropped as known"


def test_a_session_that_begins_writes_nothing_where_nothing_changed(bench: Bench) -> None:
    """A session's start writes no file, commits nothing and makes no call in a new or unchanged project."""
    bench.begin()
    assert not bench.files.tmp_dir.exists() and not bench.files.learned_file.exists()
    bench.learn()
    notice(bench)
    before, asked, commits = (
        bench.files.summary_file.stat(),
        len(bench.model.asked),
        len(list(bench.commits())),
    )
    bench.begin("s2")
    assert bench.files.summary_file.stat() == before and len(bench.model.asked) == asked
    assert len(list(bench.commits())) == commits


def test_an_excluded_project_is_not_compared(bench: Bench) -> None:
    """Nothing is written in an excluded project."""
    bench.learn()
    take_out(bench)
    bench.modes[bench.root] = "off"
    bench.begin("s2")
    assert PNPM in bench.files.summary_file.read_text()
