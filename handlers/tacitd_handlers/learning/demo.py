"""The demonstration: a transcript of its own, a scripted model that is labelled as such, and the real engine."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from loguru import logger

from tacitd.app import App, build_app
from tacitd.cli.status_command import format_status
from tacitd.methods import build_methods, take_status
from tacitd.plugins import FoundPlugins
from tacitd.sources.registry import append_sample_turn
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import ScriptedModel
from tacitd_handlers.learning import make_plugin

TYPED = (
    ("no, use pnpm here, never npm", "I ran `npm install`."),
    ("please keep answers short, no summary at the end", "Done! In summary, I have …"),
    ("thanks, looks good", "All tests pass."),
)
FACTS = "Use pnpm in this project, never npm\nPrefers short answers without a summary at the end"
LINES = """FILE: LEARNED.md
SECTION: Coding
FACT: Use pnpm in this project, never npm

FILE: LEARNED.md
SECTION: Communication
FACT: Prefers short answers without a summary at the end"""


def play_demo() -> Iterator[str]:
    """Yield what a person should see, line by line, while it happens."""
    logger.remove()
    box = Path(tempfile.mkdtemp(prefix="tacitd-demo-"))
    try:
        yield from _play(box.resolve())
    finally:
        shutil.rmtree(box, ignore_errors=True)


def _play(box: Path) -> Iterator[str]:
    yield "A demonstration in a temporary directory. The model is a SCRIPT, not Claude: it costs nothing."
    project = _project(box)
    places = Paths(box, box / "claude", box / "state", box / "none.toml", box / "s")
    model = ScriptedModel([("knowledge synthesis", LINES), ("opinion mining", FACTS)])
    app = build_app(
        places,
        {"TACITD_EXTRACTION__SETTLE": "0s"},
        found=FoundPlugins((make_plugin(),)),
        model=lambda config, budget: model,
        watcher_for=SilentWatcher,
    )
    with app:
        thread = threading.Thread(target=app.run)
        thread.start()
        try:
            yield from _watched(app, project, model)
        finally:
            app.request_stop()
            thread.join()
    yield ""
    yield "The directory is gone again. `tacitd run` does this for your own sessions."


def _project(box: Path) -> Path:
    """A git work tree, because temporary folders are no projects otherwise."""
    project = box / "app"
    (project / ".git" / "info").mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return project


def _watched(app: App, project: Path, model: ScriptedModel) -> Iterator[str]:
    table = build_methods(app)
    yield "\n1. Somebody types into Claude Code; its transcript grows:"
    for number, (words, before) in enumerate(TYPED):
        append_sample_turn(app.paths.config_dir, project, number, before, words, time.time())
        yield f"     > {words}"
    table["sync"]({})
    yield f"\n2. {len(TYPED)} prompts went out together, in one call of the fast model. It answered:"
    yield from (f"     {fact}" for fact in FACTS.splitlines())
    table["due"]({"job": "synthesize", "project": str(project)})
    table["sync"]({})
    yield f"\n3. At the session's end one call of the smart model made lines of them ({len(model.asked)} calls in all)."
    yield f"   {project.name}/LEARNED.md:"
    yield from (f"     {text}" for text in (project / "LEARNED.md").read_text().splitlines())
    yield "\n4. `tacitd status` says:"
    yield from (f"     {text}" for text in format_status(take_status(app)))
