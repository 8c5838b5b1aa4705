"""Any sequence of what tacitd, a person, git and a second process do to a shared file, with a crash at any step, against a model.

The model knows which lines the person wrote and removed. It holds that nothing of the person's text changes, that each of their
edits is reported once, that no other is, and that a line that they removed is not written again.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support_examples import examples
from tacitd.contract import Cause, Done, Edits, FileChange, Leaf, Task, Tx
from tacitd.errors import FileBusyError
from tacitd.events import NoProject
from tacitd.files.formats import SEVERAL, Bullets, bullet, split_bullet
from tacitd.files.locks import is_alive, name_process
from tacitd.files.shared_files import SharedFiles
from tacitd.store import Store
from tacitd.testing import FakeClock
from tacitd.work.shared_edits import find_new_edits, store_look

LIST = Bullets("Learned")
HEADING = "Coding"
PLUGIN = "toy"
TRIES = 12


class Crash(BaseException):
    """The process ended here."""


class SharedFile(RuleBasedStateMachine):
    """A file in a git work tree, tacitd, and a person."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name).resolve() / "app"
        self.path = self.root / "LEARNED.md"
        self.clock = FakeClock()
        self.steps = 0
        self.crash_at = 0
        self.on_swap: Callable[[], None] | None = None
        """What the person does between the plan and the swap."""
        self.number = 0
        self.gone: set[str] = set()
        """Lines of tacitd's that the person removed or reworded."""
        self.unsure: set[str] = set()
        """Those of them that git or a truncation may have removed as well."""
        self.moved = False
        """Whether git changed something since the last look."""
        self.reports: Counter[str] = Counter()
        self.added: Counter[str] = Counter()

    @initialize(tracked=st.booleans())
    def begin(self, tracked: bool) -> None:
        self.tracked = tracked
        self.root.mkdir(parents=True)
        state = self.root.parent / "state"
        state.mkdir(mode=0o700)
        self.git("init", "-q", "-b", "main")
        (self.root / "README").write_text("an app\n")
        if tracked:
            self.path.write_text("# Learned\n\nWords of the person.\n\n- mine 0\n")
        else:
            (self.root / ".git/info/exclude").write_text("LEARNED.md\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "Begin")
        self.git("branch", "other")
        self.start()
        with self.store.write() as tx:
            tx.execute("CREATE TABLE toy_line(text TEXT PRIMARY KEY, state TEXT NOT NULL)")
        self.mine = self.list_mine()

    def start(self) -> None:
        self.store = Store.open(self.root.parent / "state", self.clock, on_step=self.note_step)
        self.files = SharedFiles(self.store, self.clock, on_step=self.note_step)

    def note_step(self, step: str) -> None:
        """The process may end at each durable step; the person may save before the swap."""
        self.steps += 1
        if self.steps == self.crash_at:
            raise Crash
        if step == "before swap" and self.on_swap is not None:
            save, self.on_swap = self.on_swap, None
            save()

    def git(self, *arguments: str) -> bool:
        command = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments]
        return not subprocess.run(command, cwd=self.root, capture_output=True, check=False).returncode

    # --- what is in the file

    @property
    def text(self) -> str:
        return self.path.read_text() if self.path.exists() else ""

    def list_mine(self) -> list[str]:
        """The person's lines, in order."""
        return [line for line in self.text.splitlines() if "mine" in line or "person" in line]

    def lines(self) -> set[str]:
        return {line[2:] for line in self.text.splitlines() if line.startswith("- ")}

    def states(self) -> dict[str, str]:
        return dict(self.store.rows("SELECT text, state FROM toy_line"))

    def save(self, text: str) -> None:
        """As an editor: a new file takes its place."""
        new = self.path.with_name("new")
        new.write_text(text)
        new.replace(self.path)
        self.mine = self.list_mine()

    def remove(self, fact: str, instead: str = "") -> None:
        """The person removes or rewords a line of tacitd's."""
        new = f"- {instead}\n" if instead else ""
        if f"- {fact}\n" in self.text:
            self.gone.add(fact)
            self.unsure |= {fact} if self.moved and self.tracked else set()
            self.save(self.text.replace(f"- {fact}\n", new))

    def pick(self, which: int) -> str | None:
        """A line of tacitd's in the file."""
        found = sorted(line for line in self.lines() if line.startswith("fact"))
        return found[which % len(found)] if found else None

    # --- tacitd

    def run(self, work: Callable[[], None], crash: int) -> None:
        """Do it as the engine does: again after a crash, and again while the file is busy."""
        self.steps, self.crash_at = 0, crash
        for _ in range(TRIES):
            try:
                work()
                break
            except Crash:
                self.crash_at = 0
                self.store.close()
                self.start()
            except FileBusyError as busy:
                self.crash_at = 0
                if (self.root / ".git/MERGE_HEAD").exists():
                    break
                self.clock.advance(busy.seconds + 1.0)
                self.look_once()
        else:
            raise AssertionError("it is never done")
        self.crash_at, self.on_swap = 0, None
        self.files.finish_all()

    def learn_lines(self, new: list[str]) -> None:
        """A task that stores facts and brings the file up to date."""
        wanted = [text for text, state in self.states().items() if state == "ours"] + new
        self.number += 1

        def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
            removed = {split_bullet(leaf)[1] for leaf in (*edits.removed, *edits.changed)}
            there = set(now.values())
            return {bullet(HEADING, one): one for one in wanted if one not in removed | there}

        def apply(tx: Tx) -> None:
            tx.executemany("INSERT OR IGNORE INTO toy_line VALUES(?, 'ours')", [(one,) for one in new])

        self.do_task(apply, FileChange(self.path, LIST, decide, Cause(f"task {self.number}", "prompt")))

    def note_cut(self) -> None:
        """Of a file that lacks several lines at once nothing is concluded, also if the person removed them by hand."""
        base = {value for (value,) in self.store.rows("SELECT written FROM shared_leaf")}
        missing = base - self.lines()
        if len(missing) >= SEVERAL:
            self.unsure |= missing & self.gone

    def do_task(self, apply: Callable[[Tx], None], change: FileChange) -> None:
        """As a worker does it."""
        self.note_cut()
        done = Done(apply, [change])
        task = Task(self.number, "prompts", "", NoProject("", ""), None)
        self.files.read(PLUGIN, task, done)
        with self.store.write() as tx:
            self.files.plan(tx, PLUGIN, task, done)
            apply(tx)
        self.files.swap(PLUGIN, task)

    def look_once(self) -> None:
        """The task that reports a person's edits."""
        if not self.path.exists():
            return
        self.files.settle(self.path)
        self.note_cut()
        look, stamp = find_new_edits(self.files, self.store.rows, self.path, LIST)
        edits = look.view.edits
        gone = [split_bullet(leaf)[1] for leaf in (*edits.removed, *edits.changed)]
        with self.store.write() as tx:
            tx.executemany("UPDATE toy_line SET state = 'dropped' WHERE text = ?", [(one,) for one in gone])
            own = [(one,) for one in edits.added.values()]  # also a line that git took away and brought back
            tx.executemany("UPDATE toy_line SET state = 'theirs' WHERE text = ?", own)
            store_look(tx, self.files, self.path, PLUGIN, LIST, None, look, stamp)
        self.unsure |= {one for (one,) in own if one.startswith("fact")}
        self.reports.update(gone)
        self.added.update([*edits.added.values(), *(new for _, new in edits.changed.values())])
        self.moved = False

    @rule(crash=st.integers(0, 8), count=st.integers(1, 3))
    def learn(self, crash: int, count: int) -> None:
        """tacitd learns facts; the process may end at any step of it."""
        new = [f"fact {self.number}.{n}" for n in range(count)]
        mine = self.mine
        self.run(lambda: self.learn_lines(new), crash)
        assert self.list_mine() == mine
        assert not (self.gone - self.unsure) & self.lines()

    @rule(which=st.integers(0, 9), crash=st.sampled_from([0, 0, 4, 5]))
    def learn_while_the_person_saves(self, which: int, crash: int) -> None:
        """The person saves between the plan and the swap: their text stays, and the rest of the plan is written."""
        fact = self.pick(which)

        def save() -> None:
            self.number += 1
            if fact is not None and which % 2:
                self.remove(fact)
            self.save(self.text + f"- mine {self.number}\n")

        self.on_swap = save
        self.run(lambda: self.learn_lines([f"fact {self.number}.s"]), crash)
        assert self.list_mine() == self.mine

    @rule(which=st.integers(0, 9), removes=st.booleans())
    def replace_a_line(self, which: int, removes: bool) -> None:
        """tacitd words a line anew, and the person may remove it just then: then nothing takes its place."""
        fact, mine = self.pick(which), self.mine
        if fact is None or fact in self.gone or self.states().get(fact) != "ours":
            return
        self.number += 1
        new, leaf = f"fact {self.number}.r", bullet(HEADING, fact)

        def decide(now: Mapping[Leaf, str], edits: Edits) -> dict[Leaf, str | None]:
            return {leaf: new} if leaf in now and leaf not in edits.removed else {}

        def apply(tx: Tx) -> None:
            tx.execute("UPDATE toy_line SET state = 'replaced' WHERE text = ?", fact)
            tx.execute("INSERT OR IGNORE INTO toy_line VALUES(?, 'ours')", new)

        self.on_swap = (lambda: self.remove(fact)) if removes else None
        self.run(lambda: self.do_task(apply, FileChange(self.path, LIST, decide, Cause(new, "prompt"))), 0)
        assert self.list_mine() == mine and fact not in self.lines()
        if fact in self.gone:
            assert new not in self.lines()
            # It is the person's now, and the plugin is told so by no edit of `new`, which it never got written.
            with self.store.write() as tx:
                tx.execute("UPDATE toy_line SET state = 'dropped' WHERE text = ?", new)

    @rule(which=st.integers(0, 9))
    def save_in_two_steps(self, which: int) -> None:
        """A look between the two steps of an editor's save removes nothing."""
        fact, whole = self.pick(which), self.text
        self.run(self.look_once, 0)
        if fact is None or fact in self.gone:
            return
        self.path.write_text(whole.replace(f"- {fact}\n", ""))
        self.run(self.look_once, 0)
        self.save(whole)
        self.clock.advance(3.0)
        self.run(self.look_once, 0)

    @rule(crash=st.integers(0, 3))
    def look(self, crash: int) -> None:
        """The daemon compares the file twice."""

        def twice() -> None:
            self.look_once()
            self.clock.advance(3.0)
            self.look_once()

        # After a crash before its commit, a look is as if it had not been; after it, the report is durable.
        self.run(twice, 0) if not crash else self.run_look(crash)
        if not (self.root / ".git/MERGE_HEAD").exists():
            missing = {one for one in self.gone - self.unsure if not self.reports[one]}
            assert not missing, f"not reported: {missing}"
            own = {line for line in self.lines() if line.startswith("mine")}
            assert own <= set(self.added), f"not reported: {own - set(self.added)}"

    def run_look(self, crash: int) -> None:
        self.run(self.look_once, 0)
        self.clock.advance(3.0)
        self.run(self.look_once, 0 if crash > 1 else 1)
        self.run(self.look_once, 0)

    # --- the person

    @rule(at=st.integers(0, 9))
    def write_a_line(self, at: int) -> None:
        self.number += 1
        lines = self.text.splitlines()
        # A line within a list of tacitd's, or at the end: not between a heading and its list.
        lines.insert(max(len(lines) - at % 2, 0), f"- mine {self.number}")
        self.save("\n".join(lines) + "\n")

    @rule(which=st.integers(0, 9))
    def remove_a_line(self, which: int) -> None:
        if (fact := self.pick(which)) is not None:
            self.remove(fact)

    @rule(which=st.integers(0, 9))
    def reword_a_line(self, which: int) -> None:
        self.number += 1
        if (fact := self.pick(which)) is not None:
            self.remove(fact, f"{fact.replace('fact', 'mine')} {self.number}")

    @rule(lines=st.integers(0, 2))
    def truncate(self, lines: int) -> None:
        """An editor that crashes leaves the beginning of the file; then the person saves all of it again."""
        whole, mine = self.text, self.mine
        if not whole:
            return
        base = {value for (value,) in self.store.rows("SELECT written FROM shared_leaf")}
        kept = "".join(whole.splitlines(keepends=True)[:lines])
        missing = {one for one in base if f"- {one}\n" not in kept}
        self.path.write_text(kept)
        if len(missing) < SEVERAL or self.store.rows("SELECT 1 FROM shared_file WHERE doubt = 'cut'"):
            # So few lines may have been removed by hand. A file that was cut, and was not seen whole since, is a second time another one
            # without its lines: that is the sign that the person goes on without them.
            self.gone |= missing
            self.unsure |= missing
        self.mine = self.list_mine()
        self.run(self.look_once, 0)
        self.clock.advance(3.0)
        self.run(self.look_once, 0)
        self.save(whole)
        assert self.mine == mine

    # --- git

    def changed_by_git(self) -> None:
        self.moved = True
        self.unsure |= {one for one in self.gone if not self.reports[one]} if self.tracked else set()
        self.unsure |= self.gone & self.lines()  # git has brought them back
        self.mine = self.list_mine()

    @rule()
    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qam", "Work")
        self.changed_by_git()

    @rule(branch=st.sampled_from(["main", "other"]))
    def checkout(self, branch: str) -> None:
        """A checkout that would throw something away is refused by git."""
        self.git("checkout", "-q", branch)
        self.changed_by_git()

    @rule()
    def throw_away(self) -> None:
        """What is not committed is thrown away, as if the person had removed it."""
        self.discard("checkout", "-q", "-f", "HEAD")

    def discard(self, *command: str) -> None:
        before = self.lines()
        self.git(*command)
        lost = {one for one in before - self.lines() if one.startswith("fact")}
        self.gone |= lost
        self.unsure |= lost
        self.changed_by_git()

    @rule(back=st.booleans())
    def stash(self, back: bool) -> None:
        if self.git("stash", "-q") and back:
            self.run(self.look_once, 0)
            self.changed_by_git()
            if not self.git("stash", "pop", "-q"):  # a conflict, which the person ends so
                self.discard("reset", "-q", "--hard")
                self.git("stash", "drop", "-q")
        self.changed_by_git()

    @rule()
    def rebase(self) -> None:
        if not self.git("rebase", "-q", "main"):
            self.run(lambda: None, 0)
            self.git("rebase", "--abort")
        self.changed_by_git()

    @precondition(lambda self: self.path.exists())
    @rule(which=st.integers(0, 9))
    def merge(self, which: int) -> None:
        """While a merge is under way, nothing is written and nothing concluded."""
        mark = self.root / ".git/MERGE_HEAD"
        mark.write_text("")
        before, reports = self.text, Counter(self.reports)
        try:
            self.run(lambda: self.learn_lines([f"fact {self.number}.m"]), 0)
            self.run(self.look_once, 0)
        finally:
            mark.unlink()
        assert self.text == before and self.reports == reports

    # --- another process

    @rule(dead=st.booleans())
    def second_process(self, dead: bool) -> None:
        """A command plans a change, and waits or dies before it writes."""
        self.run(lambda: self.learn_lines([]), 0)
        other = SharedFiles(self.store, self.clock)
        if not dead:
            other._process = name_process(os.getppid())
        else:
            other._process = "999999999 1"
        self.number += 1
        fact, mine = f"fact {self.number}.o", self.mine
        leaf = bullet(HEADING, fact)
        done = Done(
            files=[FileChange(self.path, LIST, lambda n, e: {leaf: fact}, Cause(f"o{fact}", "person"))]
        )
        task = Task(self.number, "command", "", NoProject("", ""), None)
        try:
            other.read(PLUGIN, task, done)
        except FileBusyError:
            return
        with self.store.write() as tx:
            other.plan(tx, PLUGIN, task, done)
            tx.execute("INSERT INTO toy_line VALUES(?, 'ours')", fact)
        if dead:
            assert self.files.finish_all() == []
        else:
            planned = self.store.rows("SELECT process FROM plan")
            assert all(one != name_process() and is_alive(one) for (one,) in planned)
            try:
                self.learn_lines([])
                raise AssertionError("two processes change one file")
            except FileBusyError:
                other.swap(PLUGIN, task)
        assert fact in self.lines() and self.list_mine() == mine

    # --- what always holds

    @invariant()
    def only_the_person_s_edits_are_reported(self) -> None:
        assert set(self.reports) <= self.gone, set(self.reports) - self.gone
        twice = {one for one, count in self.reports.items() if count > 1 and one not in self.unsure}
        assert not twice, f"reported twice: {twice}"

    @invariant()
    def no_plan_is_left(self) -> None:
        if hasattr(self, "store"):
            assert self.store.rows("SELECT count(*) FROM plan") == [(0,)]
            assert self.store.rows("SELECT count(*) FROM change WHERE state = 'planned'") == [(0,)]

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        self.directory.cleanup()


TestSharedFile = SharedFile.TestCase
TestSharedFile.settings = examples(90, stateful_step_count=25)
