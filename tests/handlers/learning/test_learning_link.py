"""`link`, `share` and `exclude` show a change, ask, and edit only what they name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_cli import Cli
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, git, lines
from tacitd.clock import SystemClock, local_date
from tacitd.errors import FileRefusedError
from tacitd.work.write_modes import WriteModes
from tacitd_handlers.learning.link import SEE_ALSO, with_line

MIRROR = ".claude/rules/tacitd-learned.md"


@pytest.fixture
def cli(bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The program, over the bench's state."""
    made = Cli(bench.box, monkeypatch, capsys)
    made.set(TACITD_STATE_DIR=str(bench.state))
    return made


# --- link ---------------------------------------------------------------------------------------------------


def test_link_shows_a_diff_asks_and_writes(bench: Bench, cli: Cli) -> None:
    """SPEC S-33: `link` prints the diff to stdout and asks on stderr; the line is added once."""
    path = bench.put("AGENTS.md", "# Mine\n\nwords")
    said = cli.run("link", bench.root, typed="y\n")
    assert said.code == 0 and path.read_text() == f"# Mine\n\nwords\n\n{SEE_ALSO}\n"
    assert said.out.splitlines()[-1] == f"+{SEE_ALSO}" and "\\ No newline at end of file" in said.out
    assert "Write this into" in said.err and "refers to LEARNED.md now" in said.err
    assert "already" in cli.run("link", bench.root, "--yes").err
    assert path.read_text().count("See also") == 1


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_link_that_is_not_wanted_writes_nothing(bench: Bench, cli: Cli, typed: str) -> None:
    """It writes nothing if the answer is no, or if there is no terminal to ask on."""
    path = bench.put("AGENTS.md", "mine\n")
    said = cli.run("link", bench.root, typed=typed)
    assert said.code == 1 and "aborted" in said.err and path.read_text() == "mine\n"


def test_link_keeps_windows_newlines(bench: Bench, cli: Cli) -> None:
    """SPEC S-28: the file's newlines and all other bytes are kept."""
    path = bench.put("AGENTS.md", b"\xef\xbb\xbf# Mine\r\n\r\nwords\r\n")
    assert cli.run("link", bench.root, "--yes").code == 0
    assert path.read_bytes() == b"\xef\xbb\xbf# Mine\r\n\r\nwords\r\n\r\n" + SEE_ALSO.encode() + b"\r\n"


def test_link_offers_no_import(bench: Bench, cli: Cli) -> None:
    """The import of LEARNED.md works only at the project's root, so CLAUDE.md is not changed and none is created."""
    said = cli.run("link", bench.root, "--yes")
    assert said.code == 0 and "there is no" in said.err
    path = bench.put("CLAUDE.md", "mine\n")
    assert cli.run("link", bench.root, "--yes").code == 0 and path.read_text() == "mine\n"


def test_link_into_an_open_fence_is_refused(bench: Bench, cli: Cli) -> None:
    """After an open fence the line would be code."""
    path = bench.put("AGENTS.md", "```\ncode\n")
    said = cli.run("link", bench.root, "--yes")
    assert said.code == 1 and "not closed" in said.err and path.read_text() == "```\ncode\n"


@pytest.mark.parametrize("data", [b"gr\xfc\xdfe\n", "x\n".encode("utf-16"), b"a\0b"])
def test_link_leaves_a_file_alone_that_is_no_utf8(bench: Bench, cli: Cli, data: bytes) -> None:
    """Bad input: a file that is not UTF-8 is refused."""
    path = bench.put("AGENTS.md", data)
    said = cli.run("link", bench.root, "--yes")
    assert said.code == 1 and "hint: " in said.err and path.read_bytes() == data
    with pytest.raises(FileRefusedError):
        with_line(data, "x")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("CLAUDE.md", "# Mine\n\nwords\n\n@LEARNED.md\n", "# Mine\n\nwords\n"),
        ("CLAUDE.md", "\ufeffa\r\n\r\n@LEARNED.md\r\nb\r\n", "\ufeffa\r\nb\r\n"),
        (".claude/CLAUDE.md", "x\n\n@../LEARNED.md\n", "x\n"),
        ("CLAUDE.local.md", "@LEARNED.md\n", ""),
    ],
)
def test_link_remove_takes_an_old_import_out(
    bench: Bench, cli: Cli, name: str, before: str, after: str
) -> None:
    """The line of an earlier version is removed after a diff and a question; every other byte stays."""
    path = bench.put(name, before)
    assert cli.run("link", "--remove", bench.root, typed="n\n").code == 1
    assert path.read_bytes() == before.encode()
    said = cli.run("link", "--remove", bench.root, typed="y\n")
    assert said.code == 0 and "LEARNED.md" in said.out and path.read_bytes() == after.encode()
    assert "no CLAUDE.md" in cli.run("link", "--remove", bench.root, "--yes").err


@pytest.mark.parametrize(
    "words", ["See @LEARNED.md for more.", "Use `@LEARNED.md`.", "```\n@LEARNED.md\n```", "@docs/LEARNED.md"]
)
def test_link_remove_keeps_what_a_person_wrote(bench: Bench, cli: Cli, words: str) -> None:
    """Only a line that is nothing but the import is tacitd's."""
    path = bench.put("CLAUDE.md", f"{words}\n")
    assert cli.run("link", "--remove", bench.root, "--yes").code == 0
    assert path.read_text() == f"{words}\n"


@pytest.mark.parametrize("command", [["link", "--yes"], ["share"], ["exclude"]])
@pytest.mark.parametrize("where", ["home", "nowhere", "state"])
def test_what_is_no_project_is_refused(bench: Bench, cli: Cli, command: list[str], where: str) -> None:
    """DESIGN "Where it writes": nothing is written in a home directory; a usage error has exit code 2."""
    places = {"home": cli.home, "nowhere": bench.box / "no/where", "state": bench.state}
    said = cli.run(*command, places[where])
    assert said.code == 2 and str(places[where]) in said.err
    assert list(cli.home.iterdir()) == [] and not (bench.box / "no").exists()


@pytest.mark.parametrize(
    ("name", "options"), [("AGENTS.md", []), ("CLAUDE.md", ["--remove"]), (".claude/CLAUDE.md", ["--remove"])]
)
def test_link_neither_shows_nor_changes_a_file_outside_the_project(
    bench: Bench, cli: Cli, tmp_path: Path, name: str, options: list[str]
) -> None:
    """A repository can contain a link to any file of the user's."""
    outside = tmp_path / "key"
    outside.write_text("a private key\n@LEARNED.md\n")
    link = bench.root / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    said = cli.run("link", bench.root, "--yes", *options)
    assert (said.code == 1 and f"{link} is a link that leads out of the project" in said.err) or options
    assert "private" not in said.out + said.err
    assert outside.read_text() == "a private key\n@LEARNED.md\n"


# --- share --------------------------------------------------------------------------------------------------


def test_share_shows_git_what_was_learned_and_nothing_else(bench: Bench, cli: Cli) -> None:
    """DESIGN "Where it writes": LEARNED.md and AGENTS.md leave the local excludes; temporary files and the user's lines stay."""
    (bench.root / "src").mkdir()
    bench.put(".git/info/exclude", "# mine\n/docs/AGENTS.md\n*.swp\n")
    both = lines(PNPM) + "\n\n" + lines(SHORT, file="src/AGENTS.md")
    bench.answer((SYNTHESIS, both), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.learn("pnpm, not npm, and short in src")
    assert git(bench.root, "status", "--porcelain", "-uall") == ""
    said = cli.run("share", bench.root / "src")
    assert said.code == 0 and f"git shows {bench.root / 'LEARNED.md'} now" in said.err
    seen = sorted(git(bench.root, "status", "--porcelain", "-uall").split("\n"))
    assert seen == ["", "?? LEARNED.md", "?? src/AGENTS.md"]
    kept = (bench.root / ".git/info/exclude").read_text()
    private = f"/tmp/learning-*\n/tmp/known-facts-summary.md\n.tacitd-*\n*.tacitd-saved*\n/{MIRROR}\n/.claude/rules/tacitd/\n"
    assert kept == f"# mine\n/docs/AGENTS.md\n*.swp\n{private}" and (bench.root / MIRROR).exists()
    bench.put("src/.tacitd-0-1-2.old", "what a person saved while a file was replaced\n")
    assert ".tacitd" not in git(bench.root, "status", "--porcelain", "-uall")
    assert cli.run("share", bench.root).code == 0


def test_share_holds_for_what_comes_later(bench: Bench, cli: Cli) -> None:
    """The message distinguishes existing files from files that do not exist yet."""
    assert "once something is learned" in cli.run("share", bench.root).err
    choices = WriteModes(bench.state, SystemClock())
    assert choices.get_mode(bench.project) == "shared"


def test_share_does_not_undo_an_exclude(bench: Bench, cli: Cli) -> None:
    """Only the user's `--undo` ends an exclusion; nothing is removed meanwhile."""
    bench.learn()
    cli.run("exclude", bench.root)
    before = bench.excluded()
    said = cli.run("share", bench.root)
    assert said.code == 2 and f"hint: tacitd exclude --undo {bench.root}" in said.err
    assert WriteModes(bench.state, SystemClock()).get_mode(bench.project) == "off"
    assert bench.excluded() == before and "/LEARNED.md" in before


def test_share_outside_git_is_no_error(bench: Bench, cli: Cli) -> None:
    """There is nothing to remove."""
    plain = cli.home / "plain"
    plain.mkdir()
    assert cli.run("share", plain).code == 0


# --- exclude ------------------------------------------------------------------------------------------------


def test_exclude_and_its_undo(bench: Bench, cli: Cli) -> None:
    """The write mode, the message, and the way back to the previous mode."""
    choices = WriteModes(bench.state, SystemClock())
    bench.learn()
    said = cli.run("exclude", bench.root)
    assert said.code == 0 and "is excluded" in said.err
    assert choices.get_mode(bench.project) == "off"
    assert cli.run("exclude", "--undo", bench.root).code == 0 and choices.get_mode(bench.project) == "local"
    cli.run("share", bench.root)
    cli.run("exclude", bench.root)
    cli.run("exclude", bench.root)
    cli.run("exclude", "--undo", bench.root)
    assert choices.get_mode(bench.project) == "shared"
    assert cli.run("exclude").code == 2


# --- learned ------------------------------------------------------------------------------------------------


def test_learned_lists_lines_and_where_they_come_from(bench: Bench, cli: Cli) -> None:
    """`learned` works without a daemon, from any directory of the project."""
    bench.clock.jump(SystemClock().now() - bench.clock.now())  # the command uses the machine's clock
    (bench.root / "src").mkdir()
    both = lines(PNPM) + "\n\n" + lines(SHORT, file="src/AGENTS.md")
    bench.answer((SYNTHESIS, both), (EXTRACTION, f"{PNPM}\n{SHORT}"))
    bench.put("LEARNED.md", "## Coding\n- mine\n")
    bench.learn("pnpm, never npm; short answers")
    said = cli.run("learned", bench.root / "src")
    rows = cli.run("learned", "--json", cwd=bench.root).json
    last = local_date(bench.clock.now())
    assert said.out == (
        f"LEARNED.md · Coding\n  {rows[0]['id']}  {PNPM}  (said once, last on {last})\n"
        f"src/AGENTS.md · Coding\n  {rows[1]['id']}  {SHORT}  (said once, last on {last})\n"
    )
    assert [row["line"] for row in rows] == [PNPM, SHORT] and rows[0]["sessions"] == ["s1"]
    bench.files.learned_file.write_text("## Coding\n- mine\n")
    assert [row["line"] for row in cli.run("learned", bench.root, "--json").json] == [SHORT]


def test_learned_shows_what_was_refused(bench: Bench, cli: Cli) -> None:
    """SPEC S-24: with reason, words, project and time, of this project only."""
    bench.clock.jump(SystemClock().now() - bench.clock.now())  # the command uses the machine's clock
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, f"{PNPM}\nPush without asking\nUse version 6.6.6"))
    bench.learn()
    said = cli.run("learned", bench.root, "--refused")
    assert "  waits    fact  Push without asking\n" in said.out
    assert "  waits    fact  Use version 6.6.6\n" in said.out
    assert "because nobody mentioned 6.6.6" in said.out and "from: use pnpm, not npm" in said.out
    assert "by hand" in said.err
    rows = cli.run("learned", bench.root, "--refused", "--json").json
    assert [row["text"] for row in rows] == ["Push without asking", "Use version 6.6.6"]
    assert {"at", "project", "kind", "verdict", "text", "reason", "words", "key", "id"} == set(rows[0])
    assert rows[0]["at"].endswith("Z") and rows[0]["project"] == str(bench.root)
    other = cli.run("learned", bench.new_project("other").root, "--refused")
    assert other.out == "" and "nothing was refused" in other.err
    assert PNPM in cli.run("learned", bench.root).out and "6.6.6" not in cli.run("learned", bench.root).out
    assert "6.6.6" not in cli.run("context", cwd=bench.root).out


def test_learned_where_nothing_was(bench: Bench, cli: Cli) -> None:
    """Data is printed to stdout, messages to stderr."""
    said = cli.run("learned", bench.root)
    assert (said.code, said.out) == (0, "") and "nothing was learned here yet" in said.err
    assert cli.run("learned", bench.root, "--json").json == []
    nowhere = cli.run("learned", bench.box / "no/where", "--json")
    assert (nowhere.code, nowhere.out) == (2, "") and "no such directory" in nowhere.err


def test_learned_offers_what_is_withheld(bench: Bench, cli: Cli) -> None:
    """SPEC S-28: the line is listed, not written."""
    bench.learn()
    bench.files.learned_file.write_text("# Learned Preferences\n")
    bench.changed(bench.files.learned_file)
    bench.learn("pnpm, not npm, I said", session="s2")
    assert cli.run("learned", bench.root, "--withheld").out.endswith(f"  LEARNED.md  {PNPM}\n")
    rows = cli.run("learned", bench.root, "--withheld", "--json").json
    assert [{"line": row["line"], "file": row["file"]} for row in rows] == [
        {"line": PNPM, "file": "LEARNED.md"}
    ]
    assert json.loads(cli.run("learned", bench.root, "--json").out) == []
