"""The daemon looks a second time at what it swapped out: in its housekeeping, when it leaves, and after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_editor_marks import open_in_editor
from support_engine import Scene
from tacitd.errors import FileBusyError
from tacitd.files.atomic import edit_file
from tacitd.files.editors import WATCHED
from tacitd.handler import Degradation

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
