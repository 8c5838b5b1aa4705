"""A daemon whose store cannot be opened: it says why, and goes on by itself."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from support_engine import Scene
from support_waiting import PATIENCE, until
from tacitd.app import App
from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnavailableError, UnwritableError
from tacitd.files.locks import acquire_lock
from tacitd.plugins import FoundPlugins
from tacitd.service.supervision import Notifier, open_when_possible
from tacitd.sources.watch import SilentWatcher


class Builder:
    """Builds the app of a scene once there is room."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.has_room, self.tries = scene, threading.Event(), 0

    def __call__(self) -> App:
        self.tries += 1
        if not self.has_room.is_set():
            raise UnwritableError("tacitd.sqlite: No space left on device", "free space on that disk")
        scene = self.scene
        return App(scene.app.paths, scene.environ, found=FoundPlugins(()), watcher_for=SilentWatcher)


def test_it_answers_why_it_waits_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """RELIABILITY 4: no crash loop; `status` and `sync` say what is wrong, and nothing else is done."""
    scene = Scene(tmp_path)
    scene.kill()
    build, found = Builder(scene), list[App | None]()
    places = scene.app.paths
    thread = threading.Thread(
        target=lambda: found.append(open_when_possible(build, places, Notifier(), 0.05))
    )
    thread.start()

    def ask(method: str) -> dict[str, object]:
        answer: list[dict[str, object]] = []

        def answers() -> bool:
            try:
                answer.append(call_daemon(places.socket, method, {}, PATIENCE))
            except UnavailableError:  # between two tries
                return False
            return True

        until(answers)
        return answer[0]

    assert ask("ping")["pid"]
    assert "No space left" in str(ask("status")["degraded"]) and ask("status")["running"]
    said = ask("sync")
    assert said["done"] and "No space left" in str(said["parked"])
    with pytest.raises(TacitdError, match="No space left"):
        while True:
            try:
                call_daemon(places.socket, "rescued", {}, PATIENCE)
            except UnavailableError as error:
                if "No space left" in str(error):
                    raise
    until(lambda: build.tries > 2)
    build.has_room.set()
    thread.join(PATIENCE)
    (app,) = found
    assert app is not None and app.store.rows("SELECT count(*) FROM prompt") == [(0,)]
    app.close()
    acquire_lock(places.state_dir / "lock").release()


def test_stop_ends_the_wait(tmp_path: Path) -> None:
    """`tacitd stop` works while there is no room."""
    scene = Scene(tmp_path)
    scene.kill()
    build, found = Builder(scene), list[App | None]()
    places = scene.app.paths
    thread = threading.Thread(
        target=lambda: found.append(open_when_possible(build, places, Notifier(), PATIENCE))
    )
    thread.start()
    until(lambda: places.socket.exists())
    call_daemon(places.socket, "stop", {}, PATIENCE)
    thread.join(PATIENCE)
    assert found == [None] and build.tries == 1
