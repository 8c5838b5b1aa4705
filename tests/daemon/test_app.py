"""The composition: what is joined is opened and closed whole, whatever fails in between."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support_editor_marks import open_in_editor
from support_engine import Scene, Scripted, ids, with_words
from tacitd.app import App
from tacitd.contract import Later
from tacitd.control.server import Server
from tacitd.errors import FileBusyError
from tacitd.files.atomic import edit_file
from tacitd.files.editors import WATCHED
from tacitd.handler import Degradation
from tacitd.plugin import PluginSpec, TimedJob
from tacitd.plugins import FoundPlugins
from tacitd.sources.watch import SilentWatcher
from tacitd.store import Store
from tacitd.testing import ScriptedModel
from tacitd.work.activities import list_since
from tacitd.work.work_status import read_note


def test_close_is_safe_when_open_failed_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock is given back, and the error that matters is the one that is raised."""
    scene = Scene(tmp_path)
    scene.app.close()
    scene.app.close()

    class Broken(Exception):
        pass

    def start(self: Any, *_: object) -> None:
        raise Broken

    for place in ("tacitd.engine.Engine.start", "tacitd.files.editors.Editors.find_copies"):
        with monkeypatch.context() as broken:
            broken.setattr(place, start)
            app = _built(scene)
            with pytest.raises(Broken), app:
                raise AssertionError("it must not begin")
    scene.start(Scripted())
    scene.type("s", "one")
    scene.settle()
    assert ids(scene) == ["u1"]


def test_the_hooks_and_commands_find_a_daemon_whose_state_directory_was_deleted(tmp_path: Path) -> None:
    """The script of the hooks and the file with the socket's path are there again as soon as the store is, without a restart."""
    scene = Scene(tmp_path)
    state, places = scene.app.paths.state_dir, scene.app.paths
    scene.app.listen(Server(places.socket, {}))
    scene.settle()
    texts = [(state / name).read_text() for name in ("hooks/tacitd-hook", "socket")]
    shutil.rmtree(state)
    for _ in range(3):
        scene.settle(61)
    assert [(state / name).read_text() for name in ("hooks/tacitd-hook", "socket")] == texts
    scene.app.close()


def _built(scene: Scene, *specs: PluginSpec) -> App:
    return App(
        scene.app.paths,
        {},
        clock=scene.clock,
        found=FoundPlugins(specs or (PluginSpec("a"),)),
        model=lambda config, budget: ScriptedModel(),
        watcher_for=SilentWatcher,
    )


def test_each_step_of_leaving_is_taken(tmp_path: Path) -> None:
    """One part that cannot be closed must not keep the lock, nor the positions, from being written."""
    scene = Scene(tmp_path)
    scene.type("s", "one")
    scene.settle()

    def broken() -> None:
        raise RuntimeError("oops")

    scene.engine.follower.stop = broken  # type: ignore[method-assign]
    scene.app.close()
    scene.start(Scripted())
    found = scene.app.store.rows("SELECT path, offset FROM transcript")
    assert found == [(str(scene.path("s")), scene.path("s").stat().st_size)]


def test_a_restart_continues_the_interval_of_each_job(tmp_path: Path) -> None:
    """RELIABILITY row 12: also of a job that runs so often that its runs leave no record."""
    scene = Scene(tmp_path, jobs=[TimedJob("often", 600.0), TimedJob("daily", 86_400.0)])
    scene.settle(86_400)
    scene.clock.advance(400)
    scene.app.close()
    scene.start(Scripted())
    scene.app.close()
    scene.start(Scripted())

    def take_due() -> list[str]:
        return [job for plugin, job in scene.engine.schedule.take_due() if plugin == "a"]

    scene.clock.advance(199)
    assert take_due() == []
    scene.clock.advance(2)
    assert take_due() == ["often"]
    scene.clock.advance(85_798)
    assert take_due() == ["often"]
    scene.clock.advance(2)
    assert "daily" in take_due()


def test_a_start_does_not_wait_for_the_daily_check_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of a year takes half a second of it. A worker checks it at once."""
    checked = list[Store]()
    monkeypatch.setattr(Store, "check", lambda store: checked.append(store))
    scene = Scene(tmp_path)
    assert not checked
    scene.settle()
    assert checked


def test_a_plugin_that_cannot_be_made_is_said_and_stops_no_other(tmp_path: Path) -> None:
    """Issue "Dispatch": one failing plugin never touches another."""
    scene = Scene(tmp_path)
    scene.app.close()

    with _built(scene, PluginSpec("bad", run="no_such_module:run"), PluginSpec("good")) as app:
        assert list(app.plugins.by_name) == ["good"]
        assert "no_such_module" in next(d.what for d in app.list_degradations() if d.id == "handler.broken")


# status


def test_status_is_given_where_a_slice_cannot(tmp_path: Path) -> None:
    """Issue "Control": silence must not look like health, and one broken plugin hides nothing."""

    def broken() -> dict[str, Any]:
        raise ValueError("oops")

    odd: Any = {"path": Path("/x"), "set": {1}, Path("/key"): float("nan"), "deep": [{"when": object}]}
    scene = Scene(tmp_path, Scripted(says=broken), Scripted(says=lambda: odd))
    scene.type("s", "one")
    scene.settle()
    said = json.loads(json.dumps(scene.app.read_status(), allow_nan=False))
    assert said["slices"]["a"] == {} and said["slices"]["b"]["path"] == "/x"
    assert "oops" in next(d["what"] for d in said["degraded"] if d["id"] == "handler.status")
    assert said["handlers"]["a"]["lag"] == {"transcripts": 0, "bytes": 0}


def test_status_says_what_waits_and_for_what(tmp_path: Path) -> None:
    """DESIGN "Control": each handler's lag, what is parked with reason and cure, in ISO times."""
    absurd = [None, 4e9, 1e300]
    scene = Scene(
        tmp_path,
        with_words(lambda task: Later("no model", "install it", absurd[0])),
    )
    for when in range(3):
        absurd.insert(0, absurd.pop())
        scene.type(f"s{when}", "one", cwd=scene.project(f"p{when}"))
        scene.settle()
    parked = [one.text for one in list_since(scene.app.store.rows, 0) if one.did == "parked"]
    assert len(parked) == 1 and parked[0].startswith("no model"), "each reason once an hour"
    scene.app.degraded["x"] = Degradation("x", "something")
    scene.engine.run_pass()
    said = scene.app.read_status()
    assert {one["not_before"] for one in said["parked"]} == {None, "2096-10-02T07:06:40Z"}
    assert {one["reason"] for one in said["parked"]} == {"no model"} and said["parked"][0][
        "hint"
    ] == "install it"
    assert (
        said["handlers"]["a"]["busy"] == 0
        and said["handlers"]["a"]["parked"] == 3
        and said["handlers"]["a"]["waiting"] == 3
    )
    assert said["watching"]["transcripts"] == 3 and any(d["id"] == "x" for d in said["degraded"])


def test_a_problem_of_the_daemon_is_stored_while_it_lasts(tmp_path: Path) -> None:
    """DESIGN "Control": degradations are state, also for who asks the store alone."""
    scene = Scene(tmp_path)

    def list_problems() -> list[str]:
        note = read_note(scene.app.store.rows)
        assert note is not None
        return [one.what for one in note.problems]

    scene.app.degraded |= {name: Degradation("x", name) for name in ("one", "two")}
    scene.engine.run_pass()
    assert list_problems() == ["one", "two"]
    del scene.app.degraded["one"]
    scene.engine.run_pass()
    assert list_problems() == ["two"]


# --- The daemon looks a second time at what it swapped out: in its housekeeping, when it leaves, and after a crash.


LEARNED = "# Learned Preferences\n\n## Coding\n- one\n"


def learned(scene: Scene) -> Path:
    """A file of the project, as a person left it."""
    path = scene.root / "LEARNED.md"
    path.write_text(LEARNED)
    return path


def put(scene: Scene, path: Path) -> None:
    """A task's change puts a line in."""
    with scene.app.store.write() as tx:
        tx.execute(
            "INSERT OR IGNORE INTO shared_file(path, plugin, format) VALUES(?, 'a', 'bullets')", str(path)
        )
    edit_file(path, lambda data: (data or b"") + b"- ours\n", editors=scene.app.editors)


def recovered(scene: Scene) -> list[Degradation]:
    """What `status` says of it."""
    return [one for one in scene.app.list_degradations() if one.id == "files.recovered"]


def test_another_version_is_a_degradation_until_its_copy_is_gone(tmp_path: Path) -> None:
    """DESIGN "Control": state, with what cures it; a restart knows it again."""
    scene = Scene(tmp_path)
    path = learned(scene)
    with path.open("r+") as writer:
        put(scene, path)
        writer.write("# Mine")
    scene.settle(WATCHED)
    scene.settle(WATCHED)
    copy = scene.root / "LEARNED.md.tacitd-saved"
    (said,) = recovered(scene)
    assert str(copy) in said.what and str(path) in said.what and "remove the copy" in said.hint
    assert copy.read_text().startswith("# Mine") and path.read_text() == LEARNED + "- ours\n"
    scene.restart()
    (said,) = recovered(scene)
    assert str(copy) in said.what
    copy.unlink()
    assert not recovered(scene)
    scene.app.close()


def test_a_daemon_that_leaves_looks_before_it_goes(tmp_path: Path) -> None:
    """DESIGN "Service": what came until then is saved."""
    scene = Scene(tmp_path)
    path = learned(scene)
    with path.open("a") as writer:
        put(scene, path)
        writer.write("- late\n")
    scene.app.close()
    assert (scene.root / "LEARNED.md.tacitd-saved").read_text() == LEARNED + "- late\n"
    assert path.read_text() == LEARNED + "- ours\n"


def test_a_file_that_is_open_in_an_editor_is_in_status_until_it_is_closed(tmp_path: Path) -> None:
    """RELIABILITY 11: "LEARNED.md is open in an editor; what tacitd has for it waits"."""
    scene = Scene(tmp_path)
    path = learned(scene)
    mark = open_in_editor(path, scene.clock)
    with pytest.raises(FileBusyError):
        put(scene, path)
    (said,) = [one for one in scene.app.list_degradations() if one.id.startswith("files.")]
    assert (
        said.id == "files.busy" and f"{path} is open in an editor" in said.what and "ten minutes" in said.hint
    )
    scene.settle(WATCHED)
    assert path.read_text() == LEARNED
    mark.unlink()
    assert not [one for one in scene.app.list_degradations() if one.id.startswith("files.")]
    scene.app.close()
