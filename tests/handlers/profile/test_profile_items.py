"""Profile values as items that a person can forget, and the changelog as changes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacitd.errors import UsageError
from tacitd.files.log import BLANK
from tacitd.files.purge import purge_texts
from tacitd.handler import Decision, Handler, Tools
from tacitd.testing import FakeClock
from tacitd_handlers.profile.changelog import read_entries
from tacitd_handlers.profile.parse import parse_finding
from tacitd_handlers.profile.profile_decisions import decide_value
from tacitd_handlers.profile.profile_items import list_changes, list_items
from tacitd_handlers.profile.purged_changelog import purge_words
from tacitd_handlers.profile.store import ProfileStore


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProfileStore:
    """A learned editor, and a role that the person set."""
    environ = {"HOME": str(tmp_path), "USER_MEMORY_DIR": str(tmp_path / "memory"), "USER": "eve"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    made = ProfileStore.from_environ(environ, FakeClock())
    made.learn_finding(parse_finding({"tools": {"editor": "vi"}}), "s", "1")
    made.set_value("work.role", "engineer")
    return made


def environ(store: ProfileStore) -> dict[str, str]:
    return {"HOME": str(store.directory.parent), "USER_MEMORY_DIR": str(store.directory), "USER": "eve"}


def decide(choice: Any, id: str) -> str:
    tools = cast("Tools", SimpleNamespace(clock=FakeClock()))
    return decide_value(cast("Handler", None), tools, Decision(id, choice)).what


def test_each_value_is_an_item_of_the_persons(store: ProfileStore) -> None:
    """The id is its path; what the person set asks before it is removed. They belong to no project."""
    found = {one.id: one for one in list_items(environ(store), Path("/any"))}
    assert found["tools.editor"].text == "Editor: vi" and not found["tools.editor"].by_person
    assert found["work.role"].by_person and found["work.role"].root is None


def test_a_value_is_removed_and_may_be_learned_again(store: ProfileStore) -> None:
    """It has no tombstone, and the message says so."""
    assert "said again, it is learned again" in decide("drop", "tools.editor")
    assert [one.id for one in list_items(environ(store), None)] == ["work.role"]
    with pytest.raises(UsageError, match=r"no tools\.editor"):
        decide("drop", "tools.editor")
    with pytest.raises(UsageError, match="does not apply"):
        decide("restore", "tools.editor")


def test_purge_blanks_the_value_in_the_changelog(store: ProfileStore, tmp_path: Path) -> None:
    """Whatever its length, as a scalar, in a list and below other keys; other values and the person's own files stay."""
    store.learn_finding(parse_finding({"interests": ["type systems of languages"]}), "s", "2")
    store.set_value("tools.editor", "helix, the modal editor")
    (store.directory / "notes.txt").write_text("helix, the modal editor\n")
    with store.log.path.open("a") as file:
        file.write("not an entry: helix, the modal editor\nnor is this\n")
    tools = cast("Tools", SimpleNamespace(clock=FakeClock()))
    handler, quarantine = cast("Handler", None), store.directory / "changelog.quarantine.jsonl"
    texts = decide_value(handler, tools, Decision("tools.editor", "drop")).texts
    assert texts == ("helix, the modal editor",)
    assert purge_words(handler, tools, "tools.editor", texts) == [store.log.path, quarantine]
    purge_texts(tmp_path / ".local/state", texts)
    changed = [entry.get("changes", {}) for entry in read_entries(store.log.path)]
    editors = [one["tools"]["editor"] for one in changed if "tools" in one]
    assert editors == [BLANK, BLANK]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "notes.txt"]
    assert not [path for path in files if b"modal editor" in path.read_bytes()]
    assert (
        "type systems of languages" in store.log.path.read_text() and "nor is this" in quarantine.read_text()
    )
    assert purge_words(handler, tools, "4f1c02ab", ("type systems of languages",)) == [store.log.path]
    assert "type systems" not in store.log.path.read_text() and "type systems" in str(store.read_profile())


def test_the_changelog_is_a_list_of_changes(store: ProfileStore) -> None:
    """Oldest first, with ids that stay, added and removed values; a torn line is not one."""
    decide("drop", "work.role")
    with store.log.path.open("a") as file:
        file.write('{"timestamp": 3, "changes": {}}\n{"torn\n')
    made = list(list_changes(environ(store)))
    assert [[(one["added"], one["removed"]) for one in each["lines"]] for each in made] == [
        [("tools.editor: vi", "")],
        [("work.role: engineer", "")],
        [("", "work.role")],
    ]
    assert [one["id"] for one in made] == [one["id"] for one in list_changes(environ(store))]
    assert len({one["id"] for one in made}) == 3 and all("tacitd profile" in one["undo"] for one in made)


def test_without_a_profile_there_is_nothing(tmp_path: Path) -> None:
    """Nothing is created by looking."""
    empty = {"HOME": str(tmp_path), "USER_MEMORY_DIR": str(tmp_path / "memory"), "USER": "eve"}
    assert list(list_items(empty, None)) == [] and list(list_changes(empty)) == []
    assert list(tmp_path.iterdir()) == []
