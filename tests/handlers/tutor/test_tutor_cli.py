"""The commands, in this process, with a stand-in for claude and without a daemon (SPEC section T)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support_claude import StandIn, install_stand_in
from support_cli import Cli
from support_tutor import TYPED, client_rules, write_course
from tacitd.clock import SystemClock
from tacitd.files.locks import acquire_lock
from tacitd_handlers.tutor.session_log import TutorStore

pytestmark = [pytest.mark.scenario, pytest.mark.undated]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture
def project(cli: Cli) -> Path:
    root = cli.home / "app"
    (root / ".git").mkdir(parents=True)
    write_course(root)
    return root


@pytest.fixture
def claude(cli: Cli, tmp_path: Path) -> StandIn:
    made = install_stand_in(tmp_path / "bin", client_rules())
    cli.set(PATH=f"{made.directory}:/usr/bin:/bin", TACITD_BUDGET__CALLS_PER_MINUTE="1000")
    return made


def typed(*answers: str) -> str:
    return "".join(f"{one}\n" for one in answers)


def sessions(cli: Cli) -> list[Path]:
    return sorted((cli.home / ".local/share/tacitd/tutor/sessions").glob("*.jsonl"))


def test_a_session_is_discarded(cli: Cli, project: Path, claude: StandIn) -> None:
    """SPEC T-21: without a grade; beside it, a test that has no grade yet gets one."""
    leave_ungraded(cli, project, claude)
    cli.run("tutor", "start", "two", typed=typed("skip"), cwd=project)
    assert "mastery is unchanged" in cli.run("tutor", "discard").err
    assert cli.run("tutor", "grade").code == 75
    claude.rules(client_rules())
    graded = cli.run("tutor", "grade")
    assert graded.code == 0 and "0.90 Name the first thing" in graded.err
    first, last = cli.run("tutor", "history", "--json").json
    assert (first["outcome"], last["outcome"]) == ("finished", "discarded")
    for command in ("resume", "discard"):
        again = cli.run("tutor", command, last["id"])
        assert again.code == 2 and "is over" in again.err


def test_two_open_sessions(cli: Cli, project: Path, claude: StandIn) -> None:
    """Of two nodes, both are kept. SPEC T-24: damaged records are named."""
    for node in ("two", "one"):
        cli.run("tutor", "start", node, typed=typed("skip"), cwd=project)
    (first, second) = cli.run("tutor", "history", "--json").json
    with Path(first["log"]).with_suffix(".jsonl").open("a") as log:
        log.write('{"v":1,"at":1,"event":"QuestionsMade","questions":[]}\n')
    resumed = cli.run("tutor", "resume", first["id"]).out
    assert "1 damaged records of the session are skipped.\nContinuing: Node two" in resumed
    assert (first["outcome"], second["outcome"]) == ("open", "open")


def test_the_tutors_part_of_the_budget(cli: Cli, project: Path, claude: StandIn) -> None:
    """The limit is reached in the middle: a sentence with the amount, and the session is saved."""
    cli.set(TACITD_BUDGET__USD_PER_DAY="0.004")
    said = cli.run("tutor", "start", "two", typed=typed(*TYPED), cwd=project)
    assert said.code == 75 and "of $0.00 a day for `tutor` spent" in said.out and len(sessions(cli)) == 1
    cli.set(TACITD_BUDGET__USD_PER_DAY="1")
    assert "Continuing: Node two" in cli.run("tutor", "resume").out


def test_a_changed_graph(cli: Cli, project: Path, claude: StandIn) -> None:
    """SPEC T-24: the session goes on with the node as it was, also when the graph has faults now."""
    cli.run("tutor", "start", "two", typed=typed("skip"), cwd=project)
    file = project / "tutor" / "course.yaml"
    file.write_text(file.read_text().replace("Name the first thing", "Name another thing"))
    assert "Name the first thing" in cli.run("tutor", "resume", typed="").out
    file.write_text("nodes: [")
    assert "Name the first thing" in cli.run("tutor", "resume", typed="").out


def test_a_graph_file_is_checked_and_shown(cli: Cli, project: Path) -> None:
    """SPEC T-02: every fault with its file; otherwise the nodes with their objectives, prerequisites first."""
    file = project / "tutor" / "course.yaml"
    good = cli.run("tutor", "graph", file)
    assert good.code == 0 and good.out.splitlines()[:3] == [
        "one: Node one",
        "  - Know the base",
        "two: Node two  after: one",
    ]
    assert f"{file}: warning: the node one has 1 objectives" in good.err
    file.write_text(file.read_text().replace("prerequisites: [one]", "prerequisites: [two, gone]"))
    bad = cli.run("tutor", "graph", file)
    assert bad.code == 1 and f"{file}: these nodes are prerequisites of each other: two -> two" in bad.err
    assert f"{file}: the node two has the prerequisite gone, which is not in the graph" in bad.err
    assert f"{file}: the node two" in cli.run("tutor", "map", cwd=project).err
    assert cli.run("tutor", "graph", "nofile").err == "nofile: No such file or directory\n"


def test_damaged_records_are_named(cli: Cli, project: Path, claude: StandIn) -> None:
    """STYLE habit 7: bad input stops nothing and is named when the sessions are listed: no JSON, no event of the step, no log."""
    cli.run("tutor", "start", "two", typed=typed(*TYPED), cwd=project)
    folder = cli.home / ".local/share/tacitd/tutor"
    (file,) = folder.glob("sessions/*.jsonl")
    with file.open("a") as log:
        log.write(
            'not a record\n{"v":1,"at":1,"event":"Scored","scores":{}}\n{"v":1,"at":1,"event":"Spoke"}\n'
        )
    (folder / "sessions/20260101-1200-x-0000.jsonl").write_text("{}\n")
    (folder / "sessions/notes.jsonl").write_text("a person's own\n")
    said = cli.run("tutor", "history")
    assert "4 records cannot be read and are skipped" in said.err and "finished" in said.out


def test_before_anything_was_learned(cli: Cli) -> None:
    """The samples are offered, and nothing is created by looking."""
    assert "git-internals" in cli.run("tutor", "map").out
    assert cli.run("tutor", "history").err.startswith("no sessions yet")
    assert cli.run("tutor", "grade").code == 0 and cli.run("tutor", "start", "nowhere").code == 1
    assert not (cli.home / ".local/share").exists()


def leave_ungraded(cli: Cli, project: Path, claude: StandIn) -> None:
    """A whole session whose test has no scores, because the grader's answers cannot be used."""
    claude.rules([rule for rule in client_rules() if "grader" not in rule["match"]])
    assert "Not graded yet" in cli.run("tutor", "start", "two", typed=typed(*TYPED), cwd=project).out


def test_a_session_that_was_graded_meanwhile_is_not_graded_again(
    cli: Cli, project: Path, claude: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another terminal may grade between the listing and the lock: no second call is paid for."""
    leave_ungraded(cli, project, claude)
    seen = TutorStore(cli.home / ".local/share/tacitd/tutor").list_sessions()
    claude.rules(client_rules())
    assert cli.run("tutor", "grade").code == 0
    calls = len(claude.calls())
    monkeypatch.setattr(TutorStore, "list_sessions", lambda self: seen)
    assert cli.run("tutor", "grade").code == 0 and len(claude.calls()) == calls


def test_grading_that_failed_is_done_again_when_the_session_is_listed(
    cli: Cli, project: Path, claude: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC T-17, T-21: at most once an hour, never a default pass; the listing shows the scores, mastery has them."""
    leave_ungraded(cli, project, claude)
    calls = len(claude.calls())
    assert [row["outcome"] for row in cli.run("tutor", "history", "--json").json] == ["ungraded"]
    assert len(claude.calls()) == calls, "it failed less than an hour ago"
    monkeypatch.setattr(SystemClock, "now", lambda self: time.time() + 3601)
    listed = cli.run("tutor", "history", "--json")
    assert listed.json[0]["outcome"] == "ungraded" and "Not graded yet: it is not JSON" in listed.err
    assert len(claude.calls()) == calls + 2
    monkeypatch.setattr(SystemClock, "now", lambda self: time.time() + 2 * 3601)
    claude.rules(client_rules())
    again = cli.run("tutor", "history", "--json")
    assert again.json[0]["mean"] == 0.75 and "0.90 Name the first thing" in again.err


def test_a_test_without_a_model_is_listed_as_ungraded(cli: Cli, project: Path, claude: StandIn) -> None:
    """DESIGN "Model": what waits is named with its reason; it counts as no try, and a terminal that has it keeps it."""
    claude.rules([{"match": "rigorous grader", "fault": "logged-out"}, *client_rules()])
    assert cli.run("tutor", "start", "two", typed=typed(*TYPED), cwd=project).code == 75
    listed = cli.run("tutor", "history")
    assert listed.code == 0 and "not graded: not logged in" in listed.err and "ungraded" in listed.out
    (found,) = TutorStore(cli.home / ".local/share/tacitd/tutor").list_sessions()
    assert found.state.grading_tries == 0
    with acquire_lock(sessions(cli)[0].with_suffix(".lock")):
        assert "is open in process" in cli.run("tutor", "history").err


def test_the_name_of_a_graph_file_is_escaped(cli: Cli, project: Path) -> None:
    """A cloned repository chooses the names of its files."""
    (project / "tutor" / "course.yaml").rename(project / "tutor" / "a\x1b]0;title\x07.yaml")
    for command in ("map", "suggest"):
        assert "\x07" not in cli.run("tutor", command, cwd=project).out
