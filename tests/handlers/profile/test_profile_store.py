"""The profile on disk: golden files, edits by a person, bad input, crashes at every step."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support_profile import DAY, GOLDEN, NOW, Box
from tacitd.errors import FileRefusedError
from tacitd.files import json_document
from tacitd.testing import Crash, FakeClock, FaultyDisk
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.profile_reader import user_id
from tacitd_handlers.profile.store import ProfileStore
from tacitd_handlers.shared.user_memory import memory_dir

# --- golden -------------------------------------------------------------------------------------------------


@pytest.fixture
def golden(box: Box) -> Box:
    """The directory with the seed's example files, on the day of the example."""
    box.directory.mkdir(mode=0o700)
    for name in ("profile.json", "profile-meta.json", "changelog.jsonl"):
        shutil.copy(GOLDEN / name, box.directory / name)
    box.clock.wall = 1_736_938_800.0  # 2025-01-15T11:00Z
    return box


@pytest.mark.parametrize("name", ["profile.json", "profile-meta.json"])
def test_the_seeds_examples_come_back_byte_for_byte(name: str) -> None:
    """No loss, key order kept, two spaces."""
    text = (GOLDEN / name).read_bytes()
    compact = json_document.parse_document(
        json_document.dump_document(json_document.parse_document(text, Path(name)), text), Path(name)
    )
    assert json.dumps(compact) == json.dumps(json.loads(text))
    assert json_document.dump_document(compact).startswith(
        b'{\n  "userId": "cameron",\n  "schemaVersion": 1,\n'
    )


def test_a_change_keeps_all_else_and_the_order(golden: Box) -> None:
    """SPEC P-04 to P-06: unknown keys, key order and userId stay, absent keys stay absent, lastUpdated is set."""
    found = golden.profile
    found["work"] = {"zzz": None, **found["work"]}
    found["theme"] = {"dark": True, "n": 1e3}
    golden.put("profile.json", found)
    golden.learn(tools__infra=("Docker",))
    after = golden.profile
    assert list(after) == [*found]
    assert list(after["work"]) == ["zzz", "role", "languages", "focusAreas"]
    assert after["theme"] == found["theme"]
    assert after["tools"] == {"editor": "neovim", "infra": ["Docker"]}
    assert (after["userId"], after["lastUpdated"]) == ("cameron", "2025-01-15T11:00:00.001Z")
    text = (golden.directory / "profile.json").read_text()
    assert text == json.dumps(after, indent=2)  # as before: without a last newline


def test_the_examples_meta_fades_on(golden: Box) -> None:
    """SPEC P-13, P-17: stored values are as of lastDecay; a value without an entry is a person's and stays."""
    golden.clock.advance(80 * DAY)
    golden.store.apply_decay()
    assert "editor" not in golden.profile.get("tools", {})
    assert golden.meta["codePreferences.preferredStacks"]["confidence"] == pytest.approx(
        0.85 * 0.5 ** ((80 + 3 / 24) / 30), rel=1e-9
    )
    assert golden.profile["work"]["role"] == "backend engineer"
    assert golden.changelog[:4] == [
        json.loads(one) for one in (GOLDEN / "changelog.jsonl").read_text().splitlines()
    ]


# --- location and user -----------------------------------------------------------------------------------------


def test_where_it_is() -> None:
    """SPEC P-01: USER_MEMORY_DIR, otherwise user-memory in Claude Code's directory."""
    home = {"HOME": "/home/dev"}
    assert memory_dir(home) == Path("/home/dev/.claude/user-memory")
    assert memory_dir(home | {"CLAUDE_CONFIG_DIR": "/c"}) == Path("/c/user-memory")
    assert memory_dir(home | {"CLAUDE_CONFIG_DIR": "/c", "USER_MEMORY_DIR": "~/m"}) == Path("/home/dev/m")


def test_whose_it_is(box: Box) -> None:
    """SPEC P-02: $USER, otherwise the password database; a merge never changes it."""
    assert user_id({"USER": "cameron"}) == "cameron"
    assert user_id({})
    box.put("profile.json", {"userId": "somebody", "schemaVersion": 1, "lastUpdated": "2025-01-15T10:30:00Z"})
    box.learn(tools__editor="vi")
    assert box.profile["userId"] == "somebody"


# --- a person's own -------------------------------------------------------------------------------------------


def test_hand_written_values_stay_and_do_not_fade(box: Box) -> None:
    """SPEC P-17, X-07: no entry is made for what a person wrote; a finding neither replaces nor removes it."""
    box.edit(tools__editor="emacs", work__languages=["Lisp"])
    plan = box.learn(tools__editor="vscode", work__languages=("C",))
    assert plan is not None
    assert box.profile["tools"]["editor"] == "emacs"
    assert box.profile["work"]["languages"] == ["Lisp", "C"]
    box.no_longer(work__languages=("Lisp",), tools__editor=())
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.meta == {}
    assert box.profile["work"]["languages"] == ["Lisp", "C"]


def test_an_edit_by_hand_makes_a_learned_value_a_persons(box: Box) -> None:
    """SPEC P-17: a value that a person edited in profile.json is authoritative and does not decay."""
    box.learn(tools__editor="vscode", codePreferences__tone="direct")
    box.edit(tools__editor="helix")
    box.clock.advance(200 * DAY)
    box.store.apply_decay()
    assert box.profile["tools"] == {"editor": "helix"}
    assert "codePreferences" not in box.profile
    assert box.store.find_ownership().paths == {"tools.editor"}


def test_what_another_program_keeps_is_not_taken_for_a_hand(box: Box) -> None:
    """SPEC P-17: the original plugin changes a value and its entry together; such a value decays."""
    box.learn(tools__editor="vscode")
    box.edit(tools__editor="helix")
    found = box.read("profile-meta.json")
    found["preferences"][0] |= {"seenCount": 2, "lastSeen": "2026-11-20T06:00:00Z"}
    box.put("profile-meta.json", found)
    assert box.store.find_ownership().paths == frozenset()


def test_what_is_set_by_command_is_a_persons(box: Box) -> None:
    """SPEC P-17, P-19: `profile set` logs `update` by `mcp/tool`, and the value does not decay any more."""
    box.learn(tools__editor="vscode")
    box.store.set_value("tools.editor", "helix")
    assert box.meta == {}
    assert (box.changelog[-1]["action"], box.changelog[-1]["source"]) == ("update", "mcp/tool")
    assert "session_id" not in box.changelog[-1]


def test_no_longer_takes_out(box: Box) -> None:
    """SPEC P-10: "no longer" removes values, and an array that becomes empty."""
    box.learn(work__languages=("Java", "Go"), tools__editor="vim", interests=("chess",))
    box.no_longer(work__languages=("java",), tools__editor=("emacs",), interests=("chess",))
    assert box.profile["work"]["languages"] == ["Go"]
    assert box.profile["tools"]["editor"] == "vim"
    assert "interests" not in box.profile
    assert list(box.meta) == ["work.languages", "tools.editor"]
    assert box.changelog[-1]["removed"] == ["interests", "work.languages.Java"]
    assert box.changelog[-1]["changes"] == {"work": {"languages": ["Go"]}}


def test_said_again_is_only_a_sighting(box: Box) -> None:
    """SPEC P-12: the confidence rises; profile and changelog do not change."""
    box.learn(tools__editor="vim")
    box.clock.advance(30 * DAY)
    box.learn(tools__editor="Vim")
    assert len(box.changelog) == 1
    assert box.meta["tools.editor"]["confidence"] == pytest.approx(0.8, abs=1e-6)
    assert box.meta["tools.editor"]["seenCount"] == 2
    assert box.profile["tools"]["editor"] == "vim"


def test_a_finding_that_is_told_twice_counts_once(box: Box) -> None:
    """SPEC P-30: delivery is at least once, so merging is idempotent."""
    box.learn(id="x", tools__editor="vim")
    assert box.learn(id="x", tools__editor="vim") is None
    assert box.meta["tools.editor"]["seenCount"] == 1


# --- bad input --------------------------------------------------------------------------------------------------

BAD: list[tuple[str, str]] = [
    ("", "is empty"),
    ('{"userId": "x", "work": {"role": "d', "not JSON"),
    ("[1]", "does not contain a JSON object"),
    ('{"a": 1, "a": 2}', "occurs twice"),
    ('{"schemaVersion": 2}', "schemaVersion is 2"),
    ('{"schemaVersion": true}', "schemaVersion is True"),
    ('{"schemaVersion": "1"}', "schemaVersion is '1'"),
    ('{"codePreferences": {"tone": "rude"}}', "codePreferences.tone"),
    ('{"work": {"languages": "Go"}}', "work.languages"),
    ('{"work": {"languages": ["Go", 3]}}', "work.languages.1"),
    ('{"work": ["dev"]}', "work"),
    ('{"bio": null}', "bio is null"),
    ('{"lastUpdated": "yesterday"}', "lastUpdated"),
    ('{"x": NaN}', "NaN"),
    ("[" * 100_000, "nested too deeply"),
    ('{"x": "\\udead"', "not JSON"),
]


@pytest.mark.parametrize(("text", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_profile_that_is_not_understood_is_left_alone(box: Box, text: str, reason: str) -> None:
    """SPEC P-03, P-06: refused with path and reason; no file is changed."""
    path = box.put("profile.json", text)
    changes: list[Callable[[], object]] = [
        lambda: box.learn(tools__editor="vi"),
        lambda: box.store.set_value("bio", "x"),
    ]
    for change in (*changes, box.store.clear_profile):
        with pytest.raises(FileRefusedError) as refused:
            change()
        assert reason in refused.value.what
        assert str(path) in refused.value.what
        assert refused.value.hint
    assert path.read_text() == text
    assert {one.name for one in box.directory.iterdir()} == {"profile.json", ".tacitd.lock"}


@pytest.mark.parametrize(
    "meta",
    ["{", '{"preferences": [{"path": "bio"}]}', '{"schemaVersion": 9, "preferences": []}',
     '{"preferences": [{"path": "bio", "firstSeen": "x", "lastSeen": "x", "confidence": 2, "seenCount": 1}]}'],
)  # fmt: skip
def test_a_meta_that_is_not_understood_is_left_alone(box: Box, meta: str) -> None:
    """An error that names the file; nothing is lost, and the profile can still be read."""
    box.put("profile.json", {"bio": "x"})
    box.put("profile-meta.json", meta)
    with pytest.raises(FileRefusedError, match=r"profile-meta\.json"):
        box.learn(tools__editor="vi")
    assert (box.directory / "profile-meta.json").read_text() == meta
    assert box.store.read_profile() == {"bio": "x"}


def test_meta_without_profile_and_the_other_way_round(box: Box) -> None:
    """Entries without a value are dropped, values without an entry are a person's."""
    box.learn(tools__editor="vi", work__role="dev")
    (box.directory / "profile.json").unlink()
    box.learn(bio="no", interests=("go",))
    assert list(box.meta) == ["bio", "interests"]
    (box.directory / "profile-meta.json").unlink()
    box.clock.advance(300 * DAY)
    box.store.apply_decay()
    assert box.profile["interests"] == ["go"]
    assert "work" not in box.profile


def test_a_linked_profile_is_replaced_where_it_really_is(box: Box, tmp_path: Path) -> None:
    """SPEC X-09: the link's target is replaced and the link stays. A loop is an error, and nothing is lost."""
    real = tmp_path / "dotfiles" / "profile.json"
    real.parent.mkdir()
    real.write_text('{"bio": "x"}')
    box.directory.mkdir(mode=0o700)
    (box.directory / "profile.json").symlink_to(real)
    box.learn(tools__editor="vi")
    assert (box.directory / "profile.json").is_symlink()
    assert json.loads(real.read_text())["tools"] == {"editor": "vi"}
    (box.directory / "profile.json").unlink()
    (box.directory / "profile.json").symlink_to(box.directory / "profile.json")
    with pytest.raises((OSError, FileRefusedError)):
        box.learn(tools__editor="vim")


@pytest.mark.parametrize("name", ["profile.json", "profile-meta.json", "changelog.jsonl"])
def test_a_link_to_another_name_is_not_written_into(box: Box, tmp_path: Path, name: str) -> None:
    """`~/.agents` may be a clone: a link in it leads to a file of the same name, or nothing is written."""
    hook = tmp_path / "pre-commit"
    hook.write_text("{}\n")
    box.directory.mkdir(mode=0o700)
    (box.directory / name).symlink_to(hook)
    with pytest.raises(FileRefusedError, match="is a link to"):
        box.learn(tools__editor="vi")
    assert hook.read_text() == "{}\n"


def test_a_save_in_the_middle_wins_and_ours_is_on_top(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC P-08: a save while the profile is being written is kept, and the change is applied on top."""
    box.learn(tools__editor="vi")
    saves = iter([{"interests": ["tea"]}])

    class Busy(FaultyDisk):
        def open_new(self, path: Path, mode: int) -> int:
            if path.parent == box.directory and (saved := next(saves, None)):
                box.put("profile.json", box.profile | saved)
            return super().open_new(path, mode)

    at = box.store
    at.disk = Busy()
    at.set_value("work.role", "dev")
    assert box.profile["interests"] == ["tea"]
    assert box.profile["work"] == {"role": "dev"}
    assert box.profile["tools"] == {"editor": "vi"}


def test_a_save_from_before_is_the_persons(box: Box) -> None:
    """SPEC P-08, P-17: what an editor saves stands, also from a buffer that is older than a change; what the change had learned
    is learned when it is said again."""
    box.edit(bio="mine")
    buffer = box.profile
    box.learn(work__role="dev")
    box.put("profile.json", buffer | {"interests": ["tea"]})
    box.store.finish_pending()
    assert "work" not in box.profile and box.profile["interests"] == ["tea"] and box.meta == {}
    box.learn(work__role="dev")
    assert box.profile["work"] == {"role": "dev"} and "work.role" in box.meta


@pytest.mark.parametrize("when", [0.0, 4_102_444_800.0])
def test_a_clock_in_1970_or_2100_empties_nothing(box: Box, when: float) -> None:
    """SPEC P-13, RELIABILITY row 12: a wrong clock removes nothing, also by what is learned meanwhile."""
    box.learn(tools__editor="vi")
    box.clock.wall = when
    at = box.store
    at.newest_vouched = NOW
    assert at.find_clock_doubt()
    assert not at.apply_decay(forced=True).removed
    at.learn_finding(PartialProfile({"tools.editor": "vi", "work.role": "dev"}), "s", "later")
    box.clock.wall = NOW + 60 * DAY
    at.newest_vouched = NOW + 60 * DAY
    at.apply_decay()
    assert box.meta["tools.editor"]["confidence"] == pytest.approx(0.25, rel=1e-6)
    assert box.meta["work.role"]["confidence"] == pytest.approx(0.25, rel=1e-6)


# --- crashes and full disks ---------------------------------------------------------------------------------------


def scene(root: Path) -> Box:
    """A profile with values of a person and learned ones."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    box = Box(root)
    box.edit(bio="mine", custom={"k": [1]})
    box.learn(id="first", work__languages=("Go", "Java"), tools__editor="vi", session="s1")
    box.clock.advance(DAY)
    return box


def forget_by_time(at: ProfileStore) -> None:
    clock = at.clock
    assert isinstance(clock, FakeClock)
    clock.advance(120 * DAY)
    at.apply_decay()


CHANGES: dict[str, Callable[[ProfileStore], object]] = {
    "learn": lambda at: at.learn_finding(
        PartialProfile({"work.languages": ("Rust",), "tools.editor": "helix"}, {"work.languages": ("Java",)}),
        "s2",
        "second",
    ),
    "set": lambda at: at.set_value("tools.editor", "helix"),
    "remove": lambda at: at.remove_value("tools.editor"),
    "fade": lambda at: at.apply_decay(),
    "forget": forget_by_time,
}


def faulty(box: Box, disk: FaultyDisk) -> ProfileStore:
    made = ProfileStore.from_environ(box.env, box.clock)
    made.disk = disk
    made.log = type(made.log)(box.directory / "changelog.jsonl", disk)
    return made


def state(box: Box) -> tuple[Any, ...]:
    profile = {key: value for key, value in box.profile.items() if key != "lastUpdated"}
    return profile, box.read("profile-meta.json"), box.changelog


@pytest.mark.parametrize("name", CHANGES)
def test_a_crash_before_any_step_is_finished_or_absent(tmp_path: Path, name: str) -> None:
    """RELIABILITY row 2, SPEC P-30: a crash before each step; delivered again by the engine, a finding counts once."""
    box = scene(tmp_path / "b")
    before = state(box)
    trail = FaultyDisk()
    CHANGES[name](faulty(box, trail))
    after = state(box)
    assert before != after
    for at in range(1, len(trail.trail) + 1):
        box = scene(tmp_path / "b")
        with pytest.raises(Crash):
            CHANGES[name](faulty(box, FaultyDisk(crash_at=at, torn=True)))
        box.store.finish_pending()
        assert state(box) in (before, after), trail.trail[at - 1]
        if name in ("learn", "set"):
            CHANGES[name](box.store)
            assert state(box) == after, trail.trail[at - 1]


@pytest.mark.parametrize("name", CHANGES)
def test_a_disk_that_fails_at_any_step_loses_nothing(tmp_path: Path, name: str) -> None:
    """RELIABILITY row 3: ENOSPC at each step; a second try has the same result as one without a failure."""
    box = scene(tmp_path / "b")
    trail = FaultyDisk()
    CHANGES[name](faulty(box, trail))
    after = state(box)
    for at in range(1, len(trail.trail) + 1):
        box = scene(tmp_path / "b")
        with pytest.raises(OSError, match="No space"):
            CHANGES[name](faulty(box, FaultyDisk(fail_at=at, torn=True)))
        box.store.finish_pending()
        if name in ("learn", "set", "remove"):
            CHANGES[name](box.store)
            assert state(box) == after, trail.trail[at - 1]
