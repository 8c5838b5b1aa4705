"""`forget --purge` in learning's files in projects: facts that wait, claimed files, files put aside, the summary."""

from __future__ import annotations

import json
from pathlib import Path

from support_decisions import decide, find
from support_learning import PNPM, Bench, git

WORDS = "use pnpm, not npm: npm breaks our lockfile"


def list_files_with_words(bench: Bench) -> list[Path]:
    """The files of the state directory and of the project, without git's, that contain the line or the prompt."""
    files = [path for top in (bench.state, bench.root) for path in top.rglob("*") if path.is_file()]
    words = (PNPM.encode(), b"breaks our lockfile")
    return [
        path for path in files if ".git" not in path.parts and any(one in path.read_bytes() for one in words)
    ]


def test_a_fact_that_waits_is_blanked_too(bench: Bench) -> None:
    """No file holds the words afterwards, and no line is made of what is left of the fact."""
    bench.learn(WORDS)
    item = find(bench, PNPM)
    bench.files.raw_file.parent.mkdir(exist_ok=True)
    waiting = {"ts": "2026-01-01T00:00:00Z", "facts": [PNPM, "Prefers tabs"]}
    for name in ("learning-raw.jsonl", "learning-raw.1.processing.jsonl", "learning-raw.2.dead.jsonl"):
        (bench.files.tmp_dir / name).write_text(json.dumps(waiting) + "\n")
    decide(bench, item, "drop", purge=True)
    assert list_files_with_words(bench) == []
    kept = [json.loads(path.read_text())["facts"][1] for path in bench.files.tmp_dir.glob("learning-raw*")]
    assert kept == ["Prefers tabs"] * 3


def test_a_file_that_git_tracks_stays_as_it_is(bench: Bench) -> None:
    """It is the person's, whatever its name."""
    bench.learn(WORDS)
    item = find(bench, PNPM)
    text = json.dumps({"facts": [PNPM]}) + "\n"
    bench.files.tmp_dir.mkdir(exist_ok=True)
    names = ("learning-raw.jsonl", "learning-raw.2.dead.jsonl")
    for name in names:
        (bench.files.tmp_dir / name).write_text(text)
    git(bench.root, "add", "-f", *(f"tmp/{name}" for name in names))
    decide(bench, item, "drop", purge=True)
    assert [(bench.files.tmp_dir / name).read_text() for name in names] == [text, text]
