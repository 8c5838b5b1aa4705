"""What hooks are answered: a context once, what changed for a resumed session, advice once, and nothing across accounts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from tacitd.errors import UnwritableError
from tacitd.files.stalls import Stalls
from tacitd.handler import StoredItem
from tacitd.plugin import PluginSpec
from tacitd.session_context.context_request import ContextRequest
from tacitd.session_context.session_texts import KEPT, SessionTexts
from tacitd.sources.registry import make_source
from tacitd.sources.source import HookInput
from tacitd.store import Store
from tacitd.testing import FakeClock


class Toys(ModuleType):
    """The hooks of a plugin; a test sets what they know."""

    facts: tuple[str, ...] = ("one",)
    advice = (
        "- WHEN it fails -> DO wait -> BECAUSE it is slow",
        "- WHEN x -> DO y -> BECAUSE z",
    )

    def make_text(self, request: ContextRequest) -> str:
        """The facts, one a line; for a call whose error has the word `fail`, the advice."""
        if request.occasion == "failure":
            return "\n".join(self.advice) if "fail" in request.error else ""
        return "\n".join(["## Facts", *self.facts]) if self.facts else ""

    waiting = 0

    def list_items(self, rows: object, environ: object, root: Path) -> list[StoredItem]:
        """As many items that wait for the person as `waiting`, and one that does not, in the project `/w`."""
        reasons = ["", *["withheld"] * self.waiting] if root == Path("/w") else []
        return [StoredItem(f"i{n}", "line", "x", review=why) for n, why in enumerate(reasons)]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Toys:
    """The plugin's module."""
    made = Toys("toy_texts")
    monkeypatch.setitem(sys.modules, "toy_texts", made)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A client's directory."""
    (tmp_path / "claude" / "projects" / "p").mkdir(parents=True)
    return tmp_path / "claude"


def make_texts(
    home: Path,
    tmp_path: Path,
    clock: FakeClock | None = None,
    call_soon: Callable[[Callable[[], object]], object] = lambda do: do(),
) -> SessionTexts:
    """As the daemon does at its start."""
    plugin = PluginSpec("toy", session_text="toy_texts:make_text", items="toy_texts")
    clock = clock or FakeClock()
    store = Store.open(tmp_path / "state", clock, owner=False)
    return SessionTexts(make_source(home), [plugin], store, clock, {}, call_soon, Stalls(clock))


def ask(home: Path, **fields: str | Path) -> HookInput:
    """A session `s1` starts in this account."""
    made = HookInput("SessionStart", "s1", home / "projects/p/s1.jsonl", "/w", "context", source="startup")
    return replace(made, **fields)


def write_transcript(home: Path, text: str, size: int = 0) -> None:
    """The transcript of `s1`, with what a newer client records of a hook after `size` other bytes."""
    record = {"type": "attachment", "attachment": {"type": "hook_success", "stdout": text}}
    (home / "projects/p/s1.jsonl").write_text("x" * size + json.dumps(record) + "\n")


def test_a_client_that_forgets_the_context_gets_it_again(toys: Toys, home: Path, tmp_path: Path) -> None:
    """Until 2.1.63 a resumed session has nothing of what hooks printed, and its transcript neither. The same holds where the
    hook's time was over."""
    texts = make_texts(home, tmp_path)
    first = texts.answer_hook(ask(home))
    assert texts.answer_hook(ask(home, source="resume")) == first  # there is no transcript
    write_transcript(home, "")
    assert texts.answer_hook(ask(home, source="resume")) == first
    for size in (0, (1 << 20) - 60, 3 << 20):  # also over the edge of what is read at once
        write_transcript(home, first, size)
        assert texts.answer_hook(ask(home, source="resume")) == ""


def test_a_start_waits_for_no_write(toys: Toys, home: Path, tmp_path: Path) -> None:
    """A disk may take 10 ms to sync. What is noted a moment later still counts."""
    toys.waiting, noted = 1, list[Callable[[], object]]()
    texts = make_texts(home, tmp_path, call_soon=noted.append)
    first = texts.answer_hook(ask(home))
    write_transcript(home, first)
    assert "tacitd review" in first and texts.answer_hook(ask(home)) == first
    for note in noted:
        note()
    assert texts.answer_hook(ask(home, source="resume")) == "" != texts.answer_hook(ask(home, session="s2"))
    assert "tacitd review" not in texts.answer_hook(ask(home, session="s2"))


def test_a_resumed_session_gets_what_changed(toys: Toys, home: Path, tmp_path: Path) -> None:
    """Also after a restart of the daemon; a compaction drops what the client had, so the session gets all again."""
    texts = make_texts(home, tmp_path)
    first = texts.answer_hook(ask(home))
    write_transcript(home, first)
    assert "one" in first and 'session="s1"' in first
    assert texts.answer_hook(ask(home)) == first  # a new start of the same id: the same bytes
    texts = make_texts(home, tmp_path)
    assert texts.answer_hook(ask(home, source="resume")) == ""
    assert texts.answer_hook(ask(home, source="compact")) == first
    toys.facts = ("one", "two")
    assert "two" in texts.answer_hook(ask(home, source="resume"))
    assert texts.answer_hook(ask(home, source="resume")) == ""
    assert "two" in texts.answer_hook(ask(home, session="s2", source="resume"))  # never seen here


def test_sub_agents_are_no_session(toys: Toys, home: Path, tmp_path: Path) -> None:
    """What they get does not count as the session's."""
    texts = make_texts(home, tmp_path)
    write_transcript(home, "<tacitd-context>")
    assert "one" in texts.answer_hook(ask(home, event="SubagentStart", agent="Explore"))
    assert "one" in texts.answer_hook(ask(home, source="resume"))


def test_advice_comes_once_in_a_session(toys: Toys, home: Path, tmp_path: Path) -> None:
    """SPEC E-31."""
    texts = make_texts(home, tmp_path)
    failed = ask(home, event="PostToolUseFailure", kind="failure", error="it failed")
    said = texts.answer_hook(failed)
    assert said.count("WHEN") == 2 and said.startswith("<tacitd-context")
    assert texts.answer_hook(failed) == ""
    assert make_texts(home, tmp_path).answer_hook(failed) == ""
    assert texts.answer_hook(replace(failed, session="s2")) != ""
    assert texts.answer_hook(replace(failed, session="s3", error="all is well")) == ""


@pytest.mark.parametrize(
    "path", ["{home}/../other/projects/p/s1.jsonl", "{home}/projects/../../x.jsonl", "/x", ""]
)
def test_another_account_gets_nothing(toys: Toys, home: Path, tmp_path: Path, path: str) -> None:
    """`CLAUDE_CONFIG_DIR` for each account: what is known in one is not said in another."""
    texts = make_texts(home, tmp_path)
    where = Path(path.format(home=home))
    assert texts.answer_hook(replace(ask(home), transcript=where)) == ""


def test_an_unwritable_store_costs_only_repetition(
    toys: Toys, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk, a damaged file: the session gets its text."""

    def refuse(*_: object) -> None:
        raise UnwritableError("full", "free space")

    texts = make_texts(home, tmp_path)
    for name in ("rows", "write"):
        monkeypatch.setattr(Store, name, refuse)
    assert "one" in texts.answer_hook(ask(home))
    assert "one" in texts.answer_hook(ask(home, source="resume"))


def test_sessions_are_forgotten_after_a_month(toys: Toys, home: Path, tmp_path: Path) -> None:
    """The client deletes their transcripts then."""
    clock = FakeClock()
    texts = make_texts(home, tmp_path, clock)
    write_transcript(home, texts.answer_hook(ask(home)))
    assert texts.answer_hook(ask(home, source="resume")) == ""
    clock.advance(KEPT + 1)
    texts.answer_hook(ask(home, session="s2"))
    assert "one" in texts.answer_hook(ask(home, source="resume"))


def test_once_a_day_a_session_says_what_waits_in_review(toys: Toys, home: Path, tmp_path: Path) -> None:
    """Of its project, in the first session of a day that begins; also after a restart of the daemon, and without other sections."""
    clock = FakeClock()
    toys.waiting, toys.facts = 2, ()
    line = "2 lines waiting for the person's decision: `tacitd review` shows them."
    assert line not in make_texts(home, tmp_path, clock).answer_hook(ask(home, source="resume"))
    assert line not in make_texts(home, tmp_path, clock).answer_hook(ask(home, cwd="/other"))
    assert line in make_texts(home, tmp_path, clock).answer_hook(ask(home))
    assert make_texts(home, tmp_path, clock).answer_hook(ask(home, session="s2")) == ""
    clock.advance(86_400.0)
    toys.waiting = 1
    assert "1 line waiting for" in make_texts(home, tmp_path, clock).answer_hook(ask(home, session="s3"))
    clock.advance(86_400.0)
    toys.waiting = 0
    assert make_texts(home, tmp_path, clock).answer_hook(ask(home, session="s4")) == ""
