"""Two processes that write, and a person who edits by hand meanwhile: real processes, real files.

The person's editor saves no older buffer over a newer file: of that, tacitd repairs nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support_profile import Box
from tacitd.files import json_document
from tacitd_handlers.profile import changelog

pytestmark = pytest.mark.scenario

WRITES = int(os.environ.get("TACITD_WRITES", "40"))
"""Writes of each process; a full run has 1,000, so this is shortened by a factor of 25."""

WRITER = """
import os, sys
from tacitd_handlers.profile.merge import PartialProfile
from tacitd_handlers.profile.store import ProfileStore
name, count = sys.argv[1], int(sys.argv[2])
for n in range(count):
    at = ProfileStore.from_environ(os.environ)
    if n % 2:
        at.set_value(f"custom.{name}.n{n}", n)
    else:
        at.learn_finding(PartialProfile({"interests": (f"{name}{n}",)}), "s", f"{name}{n}")
"""
HAND = """
import json, pathlib, random, sys, threading
from tacitd.files.swap import exchange_names
path, count = pathlib.Path(sys.argv[1]), 0
random.seed(1)
done = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
enough = int(sys.argv[2])
while not done.wait(random.uniform(0.001, 0.03)) or count < enough:
    before = path.read_text()
    profile = json.loads(before)
    profile.setdefault("custom", {}).setdefault("hand", {})[f"h{count}"] = count
    if count % 5 == 0:
        profile.setdefault("interests", []).append(f"hand{count}")
    done.wait(random.uniform(0, 0.005))                      # typing
    if path.read_text() != before:                           # "the file has changed on disk": reload
        continue
    new = path.with_name("profile.json~")
    new.write_text(json.dumps(profile, indent=2))
    exchange_names(new, path)
    if new.read_text() != before:                            # it changed in the last moment
        exchange_names(new, path)
        continue
    count += 1
    if count == 1:
        print("begun", flush=True)
print(count)
"""


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_two_writers_and_a_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """No change of a process or of the person is lost, and every change is in the changelog."""
    monkeypatch.setattr(json_document, "PATIENCE", 0.0)
    box = Box(tmp_path)
    box.put("profile.json", {"bio": "mine"})
    env = os.environ | box.env

    def run(script: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, *arguments]
        return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    hand = run(HAND, str(box.directory / "profile.json"), str(WRITES // 20 + 1))
    assert hand.stdout is not None and hand.stdout.readline() == "begun\n"
    writers = [run(WRITER, name, str(WRITES)) for name in ("a", "b")]
    for writer in writers:
        writer.communicate("")
        assert writer.returncode == 0
    said, _ = hand.communicate("")
    assert hand.returncode == 0
    edits = int(said)
    box.clock.wall = (box.directory / "profile.json").stat().st_mtime
    box.store.finish_pending()

    profile = box.profile
    interests = {f"{name}{n}" for name in "ab" for n in range(0, WRITES, 2)}
    interests |= {f"hand{n}" for n in range(0, edits, 5)}
    assert interests - set(profile["interests"]) == set()
    for name in "ab":
        assert profile["custom"][name] == {f"n{n}": n for n in range(1, WRITES, 2)}
    assert profile["custom"]["hand"] == {f"h{n}": n for n in range(edits)}
    assert profile["bio"] == "mine"
    entries = changelog.read_entries(box.directory / "changelog.jsonl", 10 * WRITES)
    assert len(entries) == 2 * WRITES
    assert all(json.dumps(entry) for entry in entries)
    assert edits > WRITES // 20
    record_property("writes", 2 * WRITES)
    record_property("edits", edits)
