"""`tacitd demo`: the real engine with a temporary transcript and a scripted model that is labelled as such."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import time
from unittest import mock

from loguru import logger

from tacitd.testing import FakeClock, HandlerBench, ScriptedModel
from tacitd_handlers.learning import make_plugin

HOUR = 3600.0
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
    state = str(directory / "state")
    bench = HandlerBench(
        directory, make_plugin(), model=model, clock=FakeClock(time()), settings={"TACITD_STATE_DIR": state}
    )
    # Nothing of the person's own is read or written.
    mine = {"HOME": str(bench.home), "TACITD_STATE_DIR": state}
    with mock.patch.dict(os.environ, mine), bench:
        yield from _narrate(bench, bench.make_project("app"), model)
    yield ""
    yield "The temporary directory is removed now. `tacitd run` does this for your own sessions."


def _narrate(bench: HandlerBench, project: Path, model: ScriptedModel) -> Iterator[str]:
    yield "\n1. Prompts are typed into Claude Code; its transcript grows:"
    for words, before in TYPED:
        bench.answer(before, cwd=project)
        bench.type(words, cwd=project)
    yield from (f"     > {words}" for words, _ in TYPED)
    bench.settle()
    bench.sync()
    yield f"\n2. {len(TYPED)} prompts were sent together, in one call of the fast model. It answered:"
    yield from (f"     {fact}" for fact in FACTS.splitlines())
    bench.settle(HOUR)
    yield "\n3. At the session's end the smart model wrote lines from them: one call for what is about the project, one for what is"
    yield f"   about you ({len(model.asked)} calls in all)."
    for name, file in (
        (f"{project.name}/LEARNED.md", project / "LEARNED.md"),
        ("~/.agents/LEARNED.md, which the sessions of all projects load", bench.home / ".agents/LEARNED.md"),
    ):
        yield f"   {name}:"
        yield from (f"     {text}" for text in file.read_text().splitlines())
    yield "\n4. `tacitd status` says of it:"
    yield from (f"     {text}" for text in bench.status_lines)
