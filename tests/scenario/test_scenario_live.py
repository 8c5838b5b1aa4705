"""What happens, seen live: `tacitd log`, and the terminal of `run`."""

from __future__ import annotations

import json

import pytest

from support_daemon import Daemon, MakeDaemon

pytestmark = pytest.mark.scenario


def _texts(daemon: Daemon, *arguments: str) -> list[str]:
    said = daemon.cli("log", *arguments)
    assert said.returncode == 0, said.stderr
    return [line[21:] for line in said.stdout.splitlines()]


def test_the_way_of_a_prompt_is_told(make: MakeDaemon) -> None:
    """Read, asked, extracted, changed, learned: in `log`, on the terminal of `run`, in `status`; and from the logs alone once
    the daemon has stopped."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    texts = _texts(daemon)
    kinds = [text.partition(":")[0] for text in texts]
    for kind in ("read", "asked", "extracted", "changed", "learned"):
        assert kind in kinds, texts
    assert "read: 1 prompt  (app)" in texts
    assert any(text.startswith("extracted: 1 fact from 1 prompt  (app, ") for text in texts)
    (learned,) = [text for text in texts if text.startswith("learned: ")]
    assert learned.startswith("learned: Prefers amber-1  (app/LEARNED.md, from 1 prompt, ")
    for text in texts:
        assert f"INFO    {text}" in daemon.said(), text
    document = daemon.status()
    assert document["learned"]["today"] == 1 and document["learned"]["last"][0]["line"] == learned
    rows = json.loads(daemon.cli("log", "--json").stdout)
    assert [row["line"] for row in rows] == texts
    daemon.stop()
    stored = _texts(daemon)
    assert set(stored) == set(texts)
    daemon.start()
    assert daemon.status()["learned"]["today"] == 1, "a restart forgets nothing of today"
    again = _texts(daemon)
    assert len(again) == len(set(again)) and set(again) == set(stored)
