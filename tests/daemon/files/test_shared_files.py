"""The one rule for files that people edit too, case by case. What it does in any order is in test_shared_files_machine.py."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from support_changes import change_now
from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Task, View
from tacitd.errors import FileBusyError
from tacitd.events import NoProject
from tacitd.files import shared_files
from tacitd.files.atomic import FileSnapshot, read_snapshot
from tacitd.files.editors import REST, Editors
from tacitd.files.formats import Bullets, Lines, bullet
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.shared_edits import find_new_edits, store_look

LINES = Bullets("Learned")
A, B, C, D = (bullet("Coding", f"Use {name}") for name in ("pnpm", "ruff", "uv", "mypy"))
Changes = Mapping[Leaf, str | None]


class Crash(BaseException):
    """The process ended here."""


class Person:
    """A project's file, tacitd that changes it, and a person who edits it."""

    def __init__(self, tmp: Path, on_step: Callable[[str], None] = lambda step: None) -> None:
        self.root = tmp / "app"
        self.path = self.root / "LEARNED.md"
        self.clock = FakeClock()
        self.state = tmp / "state"
        self.on_step = on_step
        self.serial = 0
        if not self.root.exists():
            self.root.mkdir()
            self.state.mkdir(mode=0o700)
            self.git("init", "-q", "-b", "main")
        self.store = Store.open(self.state, self.clock, on_step=on_step)
        self.files = SharedFiles(self.store, self.clock, on_step=on_step)

    def git(self, *arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments],
            cwd=self.root,
            check=True,
            capture_output=True,
        )

    def change(self, changes: Changes, key: str = "") -> None:
        self.serial += 1
        cause = Cause(key or f"{self.serial} {self.clock.now()}", "prompt")
        self.put(FileChange(self.path, LINES, lambda now, edits: changes, cause))

    def put(self, change: FileChange, project: int | None = None) -> None:
        change_now(self.files, self.store, change, project)

    def note_look(self) -> View:
        """Look, and store what was found, as a task does that passes the edits on."""
        found = self.files.take_look(self.path, LINES)
        with self.store.write() as tx:
            self.files.store_look(tx, self.path, "toy", LINES, None, found)
        return found.view

    def edit(self, *, add: str = "", remove: str = "") -> None:
        text = self.path.read_text()
        kept = [line for line in text.splitlines() if not remove or remove not in line]
        self.path.write_text("\n".join([*kept, *([f"- {add}"] if add else [])]) + "\n")

    def look_twice(self) -> Edits:
        """Two looks, three seconds apart, as the daemon takes them."""
        first = self.note_look()
        if any(first.edits):
            return first.edits
        self.clock.advance(3)
        return self.note_look().edits

    def lines(self) -> list[str]:
        return [line[2:] for line in self.path.read_text().splitlines() if line.startswith("- ")]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    one = Person(tmp_path)
    yield one
    one.store.close()


def test_a_file_whose_last_line_has_no_end_waits_before_its_change_is_planned(person: Person) -> None:
    """A person's save of the last second may be half of one: the task is tried again in a second, while what is planned would wait for
    housekeeping. What tacitd itself wrote is whole."""
    person.files = SharedFiles(person.store, person.clock, editors=Editors(person.clock))
    person.path.write_text("# Learned\n\n## Coding\n- Use pnpm\n\n## Mine\n- no end")
    os.utime(person.path, (person.clock.now(), person.clock.now()))
    with pytest.raises(FileBusyError, match="just being written") as raised:
        person.change({B: "Use ruff"})
    assert raised.value.seconds == REST and not person.store.rows("SELECT 1 FROM plan")
    person.clock.advance(REST)
    for leaf in (B, C, D):
        person.change({leaf: leaf.partition("\n")[2]})
        os.utime(person.path, (person.clock.now(), person.clock.now()))
    assert person.lines() == ["Use pnpm", "Use ruff", "Use uv", "Use mypy", "no end"]
    assert person.path.read_bytes().endswith(b"no end")


OLDER = "# Learned\n\n## Coding\n- Use pnpm\n- Use one\n- Use two\n- Use three\n- Use four\n"


def test_an_older_copy_that_is_put_back_removes_nothing(person: Person) -> None:
    """Issue 39, point 22: several lines that are gone at once are in doubt, however long the file stays so, and whatever tacitd adds."""
    person.change(
        {bullet("Coding", f"Use {name}"): f"Use {name}" for name in ["pnpm", "one", "two", "three", "four"]}
    )
    assert person.path.read_text() == OLDER
    person.change({A: "Use pnpm", B: "Use ruff", C: "Use uv", D: "Use mypy"})
    person.path.write_text(OLDER)
    for _ in range(3):
        person.clock.advance(3600)
        view = person.note_look()
        assert view.doubt == "cut" and not any(view.edits)
    person.change({bullet("Coding", "Use five"): "Use five"})
    person.clock.advance(3600)
    assert not person.note_look().edits.removed and person.lines()[-1] == "Use five"
    person.path.write_text(OLDER)  # as a synchronisation does it each night
    assert not person.look_twice().removed and not person.look_twice().removed


@pytest.mark.parametrize("how", ["another line goes", "a line is added"])
def test_several_lines_are_removed_when_the_person_goes_on_without_them(person: Person, how: str) -> None:
    """Issue 39, point 22: the second sign is that the person edits the file again, and the lines are still not there."""
    person.change({leaf: leaf.partition("\n")[2] for leaf in (A, B, C, D, bullet("Coding", "Use more"))})
    for name in ("ruff", "uv", "mypy"):
        person.edit(remove=f"Use {name}")
    assert not person.look_twice().removed
    if how == "a line is added":
        person.edit(add="Be brief")
    else:
        person.edit(remove="Use more")
    person.clock.advance(3)
    assert person.note_look().edits.removed >= {B, C, D}


def test_lines_that_come_back_are_no_second_sign(person: Person) -> None:
    """Issue 39, point 22: a newer copy after an older one, with a line of the person's that the older one has not."""
    person.change({leaf: leaf.partition("\n")[2] for leaf in (A, B, C, D, bullet("Coding", "Use more"))})
    whole = person.path.read_text()
    person.path.write_text(whole.replace("- Use ruff\n- Use uv\n- Use mypy\n- Use more\n", ""))
    assert not person.look_twice().removed
    person.path.write_text(whole.replace("- Use ruff\n- Use uv\n- Use mypy\n", "- Be brief\n"))
    assert not person.look_twice().removed
    person.path.write_text(whole)
    assert person.look_twice() == Edits({}, {}, frozenset())


@pytest.mark.parametrize(
    "steps",
    [
        ["checkout -q -b other", "commit -q -a -m two", "look", "checkout -q main"],
        ["checkout -q -b other", "commit -q -a -m two", "checkout -q main"],
        ["commit -q -a -m two", "reset -q --hard HEAD~1"],
        ["stash -q", "stash drop -q"],
        ["reset -q --hard"],
    ],
    ids=["another branch", "there and back", "a commit taken back", "a stash dropped", "reset"],
)
def test_what_git_took_away_is_not_a_person_s_removal(person: Person, steps: list[str]) -> None:
    """S-28: a checkout without the lines makes what stands there the base, also when HEAD is again where the last look saw it."""
    person.path.write_text("# Learned\n")
    person.git("add", "-f", "LEARNED.md")
    person.git("commit", "-q", "-m", "one")
    person.change({A: "Use pnpm", B: "Use ruff"})
    person.note_look()
    for step in steps:
        if step == "look":
            person.note_look()
        else:
            person.git(*step.split())
    assert person.lines() == []
    assert person.look_twice() == Edits({}, {}, frozenset())
    person.change({A: "Use pnpm", B: "Use ruff"})
    assert person.lines() == ["Use pnpm", "Use ruff"]
    person.edit(remove="Use ruff")
    person.git("status")
    assert person.look_twice().removed == {B}


def test_a_checkout_during_a_look_is_not_a_person_s_removal(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-28: git takes the lines away just after they were read; the looks that follow do not take it for a person's edit."""
    person.path.write_text("# Learned\n")
    person.git("add", "-f", "LEARNED.md")
    person.git("commit", "-q", "-m", "one")
    person.git("checkout", "-q", "-b", "other")
    person.change({A: "Use pnpm", B: "Use ruff"})
    person.git("commit", "-q", "-a", "-m", "two")
    person.note_look()

    def read_then_checkout(path: Path) -> FileSnapshot | None:
        found = read_snapshot(path)
        person.git("checkout", "-q", "main")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(shared_files, "read_snapshot", read_then_checkout)
        assert set(person.note_look().now) == {A, B}
    assert person.look_twice() == Edits({}, {}, frozenset())


class Shouted(Lines):
    """A plugin's own format."""

    name = f"{__name__}:SHOUTED"

    def splice(self, data: bytes | None, changes: Mapping[Leaf, str | None]) -> bytes:
        """See `Format`."""
        return super().splice(data, {leaf: value and value.upper() for leaf, value in changes.items()})


SHOUTED = Shouted()


def test_a_plugin_s_own_format_is_found_after_a_crash(tmp_path: Path) -> None:
    """DESIGN "Files that people edit too": a plan is rows, and the format's name is enough to finish it; without the plugin it waits."""

    def crash(step: str) -> None:
        if step == "before swap":
            raise Crash

    person = Person(tmp_path, crash)
    change = FileChange(
        person.path, SHOUTED, lambda now, edits: {"uv": "uv", "ruff": "ruff"}, Cause("k", "prompt")
    )
    with pytest.raises(Crash):
        person.put(change)
    person.store.close()
    person = Person(tmp_path)
    with person.store.write() as tx:
        tx.execute("UPDATE plan SET format = 'gone_plugin:SHOUTED' WHERE leaf = 'uv'")
    assert person.files.finish_all() == [person.path] and not person.path.exists()
    with person.store.write() as tx:
        tx.execute("UPDATE plan SET format = ?", SHOUTED.name)
    assert person.files.finish_all() == [] and person.path.read_text() == "UV\nRUFF\n"
    person.store.close()


def crash_at_second(wanted: str) -> Callable[[str], None]:
    """The process ends at the second step of this name."""
    steps = list[str]()

    def crash(step: str) -> None:
        steps.append(step)
        if step == wanted and steps.count(wanted) == 2:
            raise Crash

    return crash


def test_a_reworded_line_is_tacitds_after_a_crash_behind_the_swap(tmp_path: Path) -> None:
    """DESIGN "Files that people edit too": the leaf of the old text is not there any more, and the plan was carried out all the same."""
    person = Person(tmp_path, crash_at_second("swapped"))
    person.change({A: "Use pnpm", B: "Use ruff"})
    with pytest.raises(Crash):
        person.change({A: "Use pnpm, never npm"})
    person.store.close()
    person = Person(tmp_path)
    assert person.files.finish_all() == [] and person.lines() == ["Use pnpm, never npm", "Use ruff"]
    ((taken, put),) = person.store.rows(
        "SELECT taken, put FROM change_line WHERE change = (SELECT max(number) FROM change)"
    )
    assert (taken, put) == ("Use pnpm", "Use pnpm, never npm")
    assert not any(person.look_twice()), "nobody edited it"
    person.store.close()


def test_a_line_that_the_person_had_before_is_not_a_reworded_one(tmp_path: Path) -> None:
    """DESIGN "Files that people edit too": a crash before the swap; meanwhile the person deleted the old line, beside one of their own
    with the planned words."""
    person = Person(tmp_path, crash_at_second("before swap"))
    person.change({A: "Use pnpm", B: "Use ruff"})
    person.edit(add="Use pnpm, never npm")
    take_up(person)
    with pytest.raises(Crash):
        person.change({A: "Use pnpm, never npm"})
    person.store.close()
    person = Person(tmp_path)
    person.path.write_text(person.path.read_text().replace("- Use pnpm\n", ""))
    assert person.files.finish_all() == [] and person.lines() == ["Use ruff", "Use pnpm, never npm"]
    last = "SELECT count(*) FROM change_line WHERE change = (SELECT max(number) FROM change)"
    assert person.store.rows(last) == [(0,)]
    assert person.store.rows("SELECT count(*) FROM shared_leaf WHERE written = 'Use pnpm, never npm'") == [
        (0,)
    ]
    person.store.close()


def test_a_decision_is_carried_out_once(person: Person) -> None:
    """DESIGN "Commit": the same cause again changes nothing, also after the person removed what it put."""
    person.change({A: "Use pnpm"}, key="k")
    person.edit(remove="Use pnpm")
    person.change({A: "Use pnpm"}, key="k")
    assert person.lines() == []


def test_a_change_that_was_decided_before_another_one_is_decided_again(person: Person) -> None:
    """DESIGN "Files that people edit too": one change at a time for each path, also from the decision to its commit."""
    change = FileChange(person.path, LINES, lambda now, edits: {B: "Use ruff"}, Cause("early", "prompt"))
    task, done = Task(7, "command", "", NoProject("", "none"), None), Done(files=(change,))
    person.files.read("toy", task, done)
    person.change({A: "Use pnpm"})
    with pytest.raises(FileBusyError, match="a moment ago"), person.store.write() as tx:
        person.files.plan(tx, "toy", task, done)
    person.put(change)
    assert person.lines() == ["Use pnpm", "Use ruff"]


def test_a_file_of_the_persons_is_private_whatever_project_it_was_changed_for(tmp_path: Path) -> None:
    """P-33: 0600 in 0700 outside of the project, and as the directory has it inside."""
    person = Person(tmp_path)
    with person.store.write() as tx:
        tx.execute("INSERT INTO project(number, root, first_seen) VALUES(1, ?, 0)", str(person.root))
    for name, modes in (("app/AGENTS.md", (0o644, 0o755)), ("memory/notes.md", (0o600, 0o700))):
        path = tmp_path / name
        change = FileChange(path, LINES, lambda now, edits: {A: "Use pnpm"}, Cause(name, "prompt"))
        person.put(change, 1)
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == modes


@pytest.mark.parametrize("target", [".husky/pre-commit", "../secret.txt"])
def test_a_link_that_came_since_the_decision_is_not_written_through(tmp_path: Path, target: str) -> None:
    """S-24: a plan that a crash left is not finished through a link to another file of the project, or out of it, and that is said."""
    from tacitd.events import Project
    from tacitd.work.project_rows import store_project
    from tacitd.work.stored_problems import list_stored_problems

    def crash(step: str) -> None:
        if step == "before swap" and armed:
            raise Crash

    armed = False
    before = Person(tmp_path, crash)
    with before.store.write() as tx:
        number = store_project(tx, Project(before.root, git=True), before.clock.now())
    armed = True
    with pytest.raises(Crash):
        before.put(
            FileChange(before.path, LINES, lambda now, edits: {A: "Use pnpm"}, Cause("1", "prompt")), number
        )
    before.store.close()
    armed = False
    other = before.root / target
    other.parent.mkdir(exist_ok=True)
    other.write_text("theirs\n")
    before.path.symlink_to(target)
    after = Person(tmp_path)
    try:
        assert after.files.finish_all() == [after.path] and other.read_text() == "theirs\n"
        (problem,) = list_stored_problems(after.store.rows, (), after.clock.now())
        assert str(after.path) in problem.what and "is a link" in problem.what
        after.path.unlink()
        assert after.files.finish_all() == [] and after.lines() == ["Use pnpm"]
        assert list_stored_problems(after.store.rows, (), after.clock.now() + 61) == []
    finally:
        after.store.close()


def take_up(one: Person) -> Edits:
    """The person's edits, as the loop finds them: what is in doubt is looked at a second time."""

    def look() -> View:
        found, stamp = find_new_edits(one.files, one.store.rows, one.path, LINES)
        with one.store.write() as tx:
            store_look(tx, one.files, one.path, "toy", LINES, None, found, stamp)
        one.clock.advance(60)
        return found.view

    first = look()
    return look().edits if first.doubt else first.edits


def test_a_line_that_is_typed_again_after_tacitd_removed_it_is_reported(person: Person) -> None:
    """X-07: `tacitd forget` takes a line of the person's, who changes their mind."""
    person.change({A: "Use pnpm"})
    take_up(person)
    for _ in range(2):
        person.edit(add="Call mum")
        edits = take_up(person)
        assert list(edits.added.values()) == ["Call mum"]
        person.change(dict.fromkeys(edits.added))
        assert not take_up(person).added


def test_a_line_that_is_deleted_after_a_commit_beside_a_write_is_the_persons(tmp_path: Path) -> None:
    """DESIGN "Doubt": only a move of HEAD that no look has seen makes a removal git's."""
    steps = list[str]()

    def take_step(step: str) -> None:
        if step == "swapped" and steps:
            one.git("commit", "-qam", "more")

    one = Person(tmp_path, take_step)
    one.change({A: "Use pnpm"})
    one.git("add", ".")
    one.git("commit", "-qm", "first")
    take_up(one)
    steps.append("commit")
    one.change({B: "Use ruff"})
    steps.clear()
    take_up(one)
    one.edit(remove="Use pnpm")
    assert take_up(one) == Edits({}, {}, frozenset({A}))
    one.store.close()
