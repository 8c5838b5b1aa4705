"""`tacitd demo`: the real engine with a temporary transcript and a scripted model that is labelled as such."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from loguru import logger

from tacitd.app import App
from tacitd.cli.status_command import format_status
from tacitd.methods import build_methods
from tacitd.plugins import FoundPlugins
from tacitd.sources.samples import SampleTranscripts
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import ScriptedModel
from tacitd_handlers.learning import make_plugin

TYPED = (
    ("no, use pnpm here, never npm", "I ran `npm install`."),
    ("please keep answers short, no summary at the end", "Done! In summary, I have …"),
    ("thanks, looks good", "All tests pass."),
)
FACTS = """{"message": 1, "words": "no, use pnpm here, never npm", "corrected": true, "fact": "Use pnpm in this project, never npm"}
{"message": 2, "words": "keep answers short, no summary at the end", "fact": "Prefers short answers without a summary at the end", "about": "person"}"""
LINES = """{"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm in this project, never npm", "FROM": [1]}"""
PERSON_LINES = """{"FILE": "LEARNED.md", "SECTION": "Communication", "FACT": "Prefers short answers without a summary at the end", "FROM": [1]}"""


def play_demo() -> Iterator[str]:
    """Run the demonstration and yield the lines to print as it proceeds."""
    logger.remove()
    directory = Path(tempfile.mkdtemp(prefix="tacitd-demo-"))
    try:
        yield from _play(directory.resolve())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _play(directory: Path) -> Iterator[str]:
    yield "A demonstration in a temporary directory. The model is a SCRIPT, not Claude: it costs nothing."
    model = ScriptedModel(
        [
            ("Use pnpm in this project", LINES),
            ("knowledge synthesis", PERSON_LINES),
            ("opinion mining", FACTS),
        ]
    )
    with run_demo_engine(directory, model) as (app, project):
        yield from _narrate(app, project, model)
    yield ""
    yield "The temporary directory is removed now. `tacitd run` does this for your own sessions."


@contextmanager
def run_demo_engine(directory: Path, model: ScriptedModel) -> Iterator[tuple[App, Path]]:
    """Run an engine in `directory` until the block ends; yield it with the directory of its project, `app`."""
    project = _project(directory)
    paths = Paths(
        directory, directory / "claude", directory / "state", directory / "none.toml", directory / "s"
    )
    app = App(
        paths,
        {"HOME": str(directory), "TACITD_EXTRACTION__SETTLE": "0s"},
        found=FoundPlugins((make_plugin(),)),
        model=lambda config, budget: model,
        watcher_for=SilentWatcher,
    )
    # Nothing of the person's own is read or written.
    mine = {"HOME": str(directory), "TACITD_STATE_DIR": str(directory / "state")}
    with mock.patch.dict(os.environ, mine), app:
        thread = threading.Thread(target=app.run)
        thread.start()
        try:
            yield app, project
        finally:
            app.request_stop()
            thread.join()


def _project(directory: Path) -> Path:
    project = directory / "app"
    for name in ("info", "objects", "refs"):  # without the last two, git does not recognise it
        (project / ".git" / name).mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return project


def _narrate(app: App, project: Path, model: ScriptedModel) -> Iterator[str]:
    methods = build_methods(app)
    yield "\n1. Prompts are typed into Claude Code; its transcript grows:"
    client = SampleTranscripts(app.paths.config_dir, app.clock)
    for words, before in TYPED:
        client.say("demo", project, before)
        client.type("demo", project, words)
    yield from (f"     > {words}" for words, _ in TYPED)
    methods["sync"]({})
    yield f"\n2. {len(TYPED)} prompts were sent together, in one call of the fast model. It answered:"
    yield from (f"     {fact}" for fact in FACTS.splitlines())
    methods["due"]({"job": "synthesize", "project": str(project)})
    methods["sync"]({})
    yield "\n3. At the session's end the smart model wrote lines from them: one call for what is about the project, one for what is"
    yield f"   about you ({len(model.asked)} calls in all)."
    for name, file in (
        (f"{project.name}/LEARNED.md", project / "LEARNED.md"),
        (
            "~/.agents/LEARNED.md, which the sessions of all projects load",
            project.parent / ".agents/LEARNED.md",
        ),
    ):
        yield f"   {name}:"
        yield from (f"     {text}" for text in file.read_text().splitlines())
    yield "\n4. `tacitd status` prints:"
    yield from (f"     {text}" for text in format_status(app.read_status()))
