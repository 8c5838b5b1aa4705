"""The learning handler in a real daemon, with the real engine in place of the unit tests' bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_daemon import ECHO_FACTS, SYNTHESIS, MakeDaemon, bullets

pytestmark = pytest.mark.scenario


def test_a_person_decides_about_facts_that_were_put_aside(make: MakeDaemon) -> None:
    """SPEC S-23: one is taken as it is, one is forgotten, and then nothing is wrong any more."""
    daemon = make([ECHO_FACTS, {"match": SYNTHESIS, "reply": "no form at all"}])
    daemon.start(DISPATCH__FIRST_PAUSE="50ms")
    for words in ("Prefers amber-1", "Prefers amber-2"):
        daemon.type_("s1", words)
    daemon.synthesize()
    daemon.sync()
    daemon.wait_until(lambda status: "learning.aside:" in str(status["degraded"]), "facts that are put aside")
    ids = {one["text"]: one["id"] for one in daemon.list_review()}
    assert daemon.cli("accept", ids["Prefers amber-1"], cwd=daemon.project).returncode == 0
    assert daemon.learned == ["Prefers amber-1"]
    assert "learning.aside:" in str(daemon.status()["degraded"])
    assert daemon.cli("forget", ids["Prefers amber-2"], "--yes", cwd=daemon.project).returncode == 0
    assert not daemon.list_review() and "learning.aside:" not in str(daemon.status()["degraded"])


def test_orphans_of_many_projects_are_found_at_the_start(make: MakeDaemon) -> None:
    """SPEC S-52: for every known project in one run; one that cannot be written does not stop the others."""
    daemon = make()
    daemon.start()
    places = [daemon.new_project(f"p{number}") for number in range(4)]
    for number, place in enumerate(places):
        daemon.type_(f"s{number}", f"Prefers amber-{number}", place)
    daemon.sync()
    (places[1] / "LEARNED.md").write_bytes(b"\xff\xfe")
    daemon.kill9()
    daemon.start(SESSION__IDLE="1s")
    good = [place for place in places if place is not places[1]]
    daemon.wait_until(
        lambda _: all(bullets(place / "LEARNED.md") for place in good), "lines in three projects"
    )
    status = daemon.wait_until(
        lambda status: any(
            "not UTF-8" in one["what"] or "UTF-16" in one["what"] for one in status["degraded"]
        )
    )
    assert str(places[1]) in json.dumps(status["degraded"])
    (places[1] / "LEARNED.md").unlink()
    assert daemon.sync() == []
    assert bullets(places[1] / "LEARNED.md") == ["Prefers amber-1"]
    assert not [one for one in daemon.status()["degraded"] if one["id"].startswith("learning")]


def test_each_project_is_named_once_when_it_is_first_written_in(make: MakeDaemon) -> None:
    """The log names each repository when something is written there for the first time."""
    daemon = make()
    daemon.start()
    other = daemon.new_project("other")
    for _ in range(2):
        daemon.type_("s1", "Prefers amber-1")
        daemon.type_("s2", "Prefers amber-2", other)
        daemon.synthesize()
        daemon.synthesize(other)
        daemon.restart()
    said = daemon.said()
    for place in (daemon.project, other):
        assert said.count(f"tacitd writes in {place} from now on") == 1
        assert str(place) in daemon.status()["slices"]["learning"]["projects"]


def test_links_in_a_strangers_repository_lead_nowhere(make: MakeDaemon, tmp_path: Path) -> None:
    """RELIABILITY 19: a clone may contain links under every name of tacitd's files; no file of the person's changes."""
    daemon = make()
    mine = tmp_path / "bashrc"
    mine.write_text("mine\n")
    tmp = daemon.project / "tmp"
    tmp.mkdir()
    (tmp / "known-facts-summary.md").symlink_to(mine)
    (tmp / "learning-raw.jsonl").symlink_to("/dev/zero")
    (daemon.project / "LEARNED.md").symlink_to(mine)
    daemon.start()
    daemon.type_("s1", "Prefers amber-1")
    daemon.synthesize()
    assert mine.read_text() == "mine\n" and "is a link" in daemon.cli("status").stdout
    (daemon.project / "LEARNED.md").unlink()
    assert daemon.sync() == []
    assert daemon.learned == ["Prefers amber-1"] and mine.read_text() == "mine\n"
