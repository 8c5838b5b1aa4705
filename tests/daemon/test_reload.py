"""Reloading the configuration of a running daemon: all of it or nothing, and in every part."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from tacitd.app import App
from tacitd.cli.run_command import NO_TASK
from tacitd.config.settings import Config
from tacitd.errors import ConfigError
from tacitd.events import NoProject, Project
from tacitd.files.editors import Editors
from tacitd.files.locks import Lock, find_holder
from tacitd.housekeeping import keep_house, reload_config
from tacitd.methods import build_methods
from tacitd.model.port import ModelRequest
from tacitd.plugin import PluginSpec
from tacitd.plugins import FoundPlugins
from tacitd.service.supervision import Notifier, Supervision
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import FakeClock, ScriptedModel

GOOD = """
[budget]
calls_per_day = 7
usd_per_day = 0.5
[session]
idle = "5m"
[projects]
exclude = ["~/secret"]
write = "off"
[dispatch]
first_pause = "1s"
[log]
level = "DEBUG"
[odd]
words = 9
"""


class OddSettings(BaseModel):
    """A plugin's settings. It had another one in an earlier version."""

    words: int = 1


class Box:
    """A built App with its files."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.file = root / "config.toml"
        self.secret = root / "secret" / "app"
        (self.secret / ".git").mkdir(parents=True)
        (self.secret / ".git/HEAD").write_text("ref: refs/heads/main\n")
        self.places = Paths(root, root / "claude", root / "state", self.file, root / "s")
        self.environ, self.clock = environ, FakeClock()
        self.lock: Lock | None = None
        self.app = self.build()

    def build(self, config: Config | None = None, editors: Editors | None = None) -> App:
        """As `tacitd run` does."""
        odd = PluginSpec("odd", settings={"odd": f"{__name__}:OddSettings"})
        app = App(
            self.places,
            self.environ,
            clock=self.clock,
            found=FoundPlugins((odd,)),
            model=lambda config, budget: ScriptedModel(),
            watcher_for=SilentWatcher,
            config=config,
            editors=editors,
            lock=self.lock,
        )
        self.lock = app.lock
        return app


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path.resolve())


def test_another_app_has_everything_of_the_new_configuration(box: Box) -> None:
    """Limits, session.idle, excluded directories, a plugin's own settings, `off`. The loop leaves for it when no task runs."""
    app = box.app
    assert app.plugins.by_name["odd"].make_tools(NO_TASK).settings["odd"].words == 1
    assert isinstance(app.projects.find_project(str(box.secret)), Project)
    box.file.write_text(GOOD)
    changed = reload_config(app)
    assert set(changed) == {
        "budget.calls_per_day",
        "budget.usd_per_day",
        "session.idle",
        "projects.exclude",
        "projects.write",
        "dispatch.first_pause",
        "log.level",
        "odd.words",
    }
    passes = iter(range(4))
    running = app.engine.runner._running
    running["odd", ""] = 0.0

    def go_on() -> None:
        if next(passes) == 2:
            running.clear()

    app.run(go_on, 0.0)
    assert list(passes) == [3] and not app.stopping.is_set()
    app.close()
    assert find_holder(box.places.state_dir / "lock") == os.getpid(), "no other daemon gets it in between"
    box.file.write_text("what is written meanwhile does not count")
    app = box.build(app.reloaded)
    assert app.config.budget.calls_per_day == 7 and app.engine.sessions.idle == 300.0
    assert isinstance(app.projects.find_project(str(box.secret)), NoProject)
    assert app.plugins.by_name["odd"].make_tools(NO_TASK).settings["odd"].words == 9
    assert app.write_modes.get_mode(Project(box.secret, git=True)) == "off"
    for _ in range(7):
        assert isinstance(app.budget.begin_call(ModelRequest("?", "fast", plugin="odd", purpose="x")), int)
    assert not isinstance(app.budget.begin_call(ModelRequest("?", "fast", plugin="odd", purpose="x")), int)
    app.close()


def test_a_task_that_hangs_does_not_hold_a_reload_for_ever(box: Box) -> None:
    """A mount that does not answer keeps a task for hours. `status` says for what the reload waits, and it waits for minutes."""
    app, clock, passes = box.app, box.clock, 0
    app.engine.runner._running["odd", "/mount"] = -7200.0
    assert "config.waits" not in degraded(box)
    box.file.write_text(GOOD)
    reload_config(app)
    begun = clock.monotonic()

    def go_on() -> None:
        nonlocal passes
        passes += 1
        assert passes < 100, "it waits for ever"
        assert degraded(box)["config.waits"].startswith("the reload waits for odd in /mount / no other work")
        clock.advance(10.0)

    app.run(go_on, 0.0)
    assert 120.0 < clock.monotonic() - begun <= 310.0 and not app.stopping.is_set()
    app.engine.runner._running.clear()
    app.close()


def test_the_newest_configuration_counts_and_a_stop_is_kept_while_a_reload_is_under_way(box: Box) -> None:
    """Also the old one again; and a call of `stop` whose turn in the loop does not come any more."""
    app = box.app
    box.file.write_text(GOOD)
    assert reload_config(app)
    box.file.unlink()
    assert reload_config(app) == []
    assert app.reloaded is not None and app.reloaded.budget.calls_per_day == 200
    app.run(max_sleep=0.0)
    build_methods(app)["stop"]({})
    assert app.asked_to_stop.is_set()
    app.close()
    assert not app.lock.is_held


@pytest.mark.parametrize(
    "text", [GOOD + "[bugdet]\nx = 1\n", GOOD.replace("7", '"many"'), "not toml", "[odd]\nwords = 'x'\n"]
)
def test_a_wrong_one_changes_nothing(box: Box, text: str) -> None:
    """Exit code 78, and every value of the old configuration stays in force."""
    before = box.app.config
    box.file.write_text(text)
    with pytest.raises(ConfigError) as error:
        build_methods(box.app)["reload"]({})
    assert error.value.code == 78 and box.app.config is before and box.app.reloaded is None
    assert box.app.plugins.by_name["odd"].settings["odd"].words == 1
    box.app.close()


def degraded(box: Box) -> dict[str, str]:
    """Id and text of each degradation, as `status` shows them."""
    return {one.id: f"{one.what} / {one.hint}" for one in box.app.list_degradations()}


def test_a_refused_configuration_is_shown_until_it_is_mended(box: Box) -> None:
    """DESIGN "Control", degradations are state and not log lines: a person who sends SIGHUP does not read the log."""
    life = Supervision(box.app, Notifier())
    for wrong, key in (("[budget]\ncalls_per_day = -1\n", "calls_per_day"), ("[budget\n", "config.toml")):
        box.file.write_text(wrong)
        life.reload_or_keep()
        assert key in degraded(box)["config.refused"]
        assert "tacitd reload" in degraded(box)["config.refused"]
    box.file.write_text(GOOD)
    keep_house(box.app)
    assert box.app.config.budget.calls_per_day == 200, "what is being edited is not taken by itself"
    life.reload_or_keep()
    assert "config.refused" not in degraded(box)
    assert box.app.reloaded is not None and box.app.reloaded.budget.calls_per_day == 7


def test_a_daemon_keeps_its_lock_or_ends(box: Box) -> None:
    """Its state directory was deleted: it takes the lock again. If one was started anew meanwhile, each put the other's store aside, for
    ever: the older one ends, and writes nothing more."""
    app, path = box.app, box.places.state_dir / "lock"
    path.unlink()
    app._keep_lock()
    assert app.lock.is_held and find_holder(path) == os.getpid() and not app.asked_to_stop.is_set()
    path.unlink()
    command = f"from pathlib import Path; from tacitd.files.locks import acquire_lock; lock = acquire_lock(Path({str(path)!r})); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None and other.stdout.readline()
        passes = list[int]()
        app.run(lambda: passes.append(1), 0.0)
        assert passes == [] and app.is_displaced and app.asked_to_stop.is_set()
        (box.places.state_dir / "tacitd.sqlite").unlink()
        app.close()
        other.communicate(b"\n")
    assert not (box.places.state_dir / "tacitd.sqlite").exists(), "it writes nothing more"
