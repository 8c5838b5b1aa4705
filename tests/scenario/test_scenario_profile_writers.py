"""Two programs that set values through the daemon, and a person who edits by hand meanwhile: a real daemon, real files.

The person's editor saves no older buffer over a newer file: of that, tacitd repairs nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from support_daemon import Daemon, MakeDaemon
from tacitd.control.client import CallFailedError
from tacitd_handlers.profile import profile_files

pytestmark = pytest.mark.scenario

WRITES = int(os.environ.get("TACITD_WRITES", "40"))
"""Writes of each program; a full run has 1,000, so this is shortened by a factor of 25."""

HAND = """
import json, pathlib, random, sys, threading
from tacitd.files.disk import Disk
path, count = pathlib.Path(sys.argv[1]), 0
random.seed(1)
done = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
enough = int(sys.argv[2])
while not done.wait(random.uniform(0.001, 0.03)) or count < enough:
    before = path.read_text()
    profile = json.loads(before)
    hand = profile.setdefault("custom", {}).setdefault("hand", {})
    if count and f"h{count - 1}" not in hand:                # tacitd's, until it has put back what was saved meanwhile
        continue
    hand[f"h{count}"] = count
    if count % 5 == 0:
        profile.setdefault("interests", []).append(f"hand{count}")
    done.wait(random.uniform(0, 0.005))                      # typing
    if path.read_text() != before:                           # "the file has changed on disk": reload
        continue
    new = path.with_name("profile.json~")
    new.write_text(json.dumps(profile, indent=2))
    Disk().exchange(new, path)
    if new.read_text() != before:                            # it changed in the last moment
        Disk().exchange(new, path)
        continue
    count += 1
    if count == 1:
        print("begun", flush=True)
print(count)
"""


def write(daemon: Daemon, name: str) -> None:
    """A person's command and an agent's, in turn."""
    for n in range(WRITES):
        if n % 2:
            data = {"do": "set", "path": f"custom.{name}.n{n}", "value": n}
        else:
            data = {"do": "add", "path": "interests", "value": [f"{name}{n}"], "agent": True}
        try:
            daemon.call("task", plugin="profile", key=str(uuid4()), data=data)
        except CallFailedError as error:  # it is in the queue, behind a change that meets the person's edits
            assert "it is done as soon as that is over" in str(error)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_two_writers_and_a_hand(make: MakeDaemon, record_property: Callable[[str, object], None]) -> None:
    """P-08, P-17, X-07: no change of a program or of the person is lost, and every change of a program is in the changelog."""
    daemon = make()
    folder = daemon.home / ".claude" / "user-memory"
    folder.mkdir(parents=True, mode=0o700)
    path = folder / "profile.json"
    path.write_text('{"bio": "mine"}')
    daemon.start()
    command = [sys.executable, "-c", HAND, str(path), str(WRITES // 20 + 1)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hand:
        assert hand.stdout is not None and hand.stdout.readline() == "begun\n"
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(write, daemon, name) for name in "ab"]:
                done.result()
        said, _ = hand.communicate("")
    daemon.wait_until(lambda _: daemon.sync(600) == [], "the profile's changes")
    edits = int(said)
    profile = json.loads(path.read_text())
    interests = {f"{name}{n}" for name in "ab" for n in range(0, WRITES, 2)}
    interests |= {f"hand{n}" for n in range(0, edits, 5)}
    assert interests - set(profile["interests"]) == set()
    for name in "ab":
        assert profile["custom"][name] == {f"n{n}": n for n in range(1, WRITES, 2)}
    assert profile["custom"]["hand"] == {f"h{n}": n for n in range(edits)}
    assert profile["bio"] == "mine" and edits > WRITES // 20
    assert len(profile_files.read_entries(folder / "changelog.jsonl", 10 * WRITES)) == 2 * WRITES
    owned = {one["path"]: one for one in json.loads(daemon.cli("profile", "meta", "--json").stdout)}
    assert {f"hand{n}" for n in range(0, edits, 5)} <= set(owned["interests"]["ownElements"])
    record_property("writes", 2 * WRITES)
    record_property("edits", edits)
