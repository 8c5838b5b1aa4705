"""A daemon whose store cannot be opened, and that is told to stop meanwhile. How it goes on is in tests/scenario/test_scenario_full_disk.py."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from support_waiting import PATIENCE, until
from tacitd.app import App
from tacitd.control.client import call_daemon
from tacitd.errors import TacitdError, UnwritableError
from tacitd.service.supervision import Notifier, open_when_possible
from tacitd.state.paths import Paths


def test_stop_ends_the_wait(tmp_path: Path) -> None:
    """`tacitd stop` works while there is no room; `status` says what is wrong, and what cannot be done is refused with it."""
    places = Paths.from_env({"HOME": str(tmp_path), "TACITD_STATE_DIR": str(tmp_path)})
    found = list[App | None]()

    def build() -> App:
        raise UnwritableError("tacitd.sqlite: No space left on device", "free space on that disk")

    wait = partial(open_when_possible, build, places, Notifier(), threading.Event())
    thread = threading.Thread(target=lambda: found.append(wait()))
    thread.start()
    until(lambda: places.socket.exists())
    (problem,) = call_daemon(places.socket, "status", {}, PATIENCE)["degraded"]
    assert problem["what"].endswith("No space left on device")
    with pytest.raises(TacitdError, match="No space left"):
        call_daemon(places.socket, "wake", {}, PATIENCE)
    said = call_daemon(places.socket, "sync", {}, PATIENCE)
    assert [(one["what"], one["hint"]) for one in said["parked"]] == [
        ("nothing can be handled now", "free space on that disk")
    ]
    call_daemon(places.socket, "stop", {}, PATIENCE)
    thread.join(PATIENCE)
    assert found == [None]
