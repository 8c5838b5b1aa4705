"""Bad files: each has one clear line in `status`, other work continues, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from support_beginnings import opening
from support_daemon import Daemon, MakeDaemon, append, line, prompt_record, raw_files
from support_rights import bound

pytestmark = pytest.mark.scenario
MEGABYTE = 1 << 20


def degraded(daemon: Daemon) -> dict[str, str]:
    """The degradations in `status`, by id."""
    return {one["id"]: one["what"] for one in daemon.status()["degraded"]}


def goes_on(daemon: Daemon) -> None:
    """An ordinary session of another project is learned."""
    other = daemon.home / "work" / "healthy"
    if not other.exists():
        daemon.new_project("healthy")
    daemon.type_("healthy", "Prefers health-1", other)
    daemon.sync()
    assert "Prefers health-1" in daemon.put_to_model()


def test_what_is_only_named_like_a_transcript_is_left_alone(make: MakeDaemon) -> None:
    """Bad input: a FIFO does not block, a link is not followed, a directory is not read; each is named."""
    daemon = make()
    folder = daemon.transcript("x").parent
    secret = daemon.home / "elsewhere.jsonl"
    append(secret, line(prompt_record("link", "Prefers secret-1", str(daemon.project))))
    os.mkfifo(folder / "fifo.jsonl")
    daemon.start()
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "folder.jsonl").mkdir()
    goes_on(daemon)
    said = degraded(daemon)["transcripts.odd"]
    assert "fifo.jsonl: a FIFO" in said
    assert "link.jsonl: a symbolic link" in said
    assert daemon.put_to_model() == ["Prefers health-1"]
    (folder / "fifo.jsonl").unlink()
    (folder / "link.jsonl").unlink()
    daemon.type_("inner", "Prefers amber-1")
    daemon.sync()
    assert "transcripts.odd" not in degraded(daemon)
    assert daemon.put_to_model()[-1] == "Prefers amber-1"


def test_an_unreadable_transcript_is_named_and_read_when_it_can_be(make: MakeDaemon) -> None:
    """Bad input: an unreadable file; the line has the fix, and nothing is lost."""
    daemon = make()
    daemon.before = bound()
    daemon.start()
    path = daemon.transcript("s1")
    daemon.type_("s1", "Prefers amber-1")
    path.chmod(0)
    goes_on(daemon)
    assert "s1.jsonl" in degraded(daemon)["transcript.unreadable"]
    path.chmod(0o600)
    daemon.sync()
    assert "Prefers amber-1" in daemon.put_to_model()
    assert "transcript.unreadable" not in degraded(daemon)


def test_damaged_and_enormous_lines_hide_no_whole_record(make: MakeDaemon) -> None:
    """RELIABILITY 9: a 64 MB line, NUL runs, invalid UTF-8, glued and truncated records; memory stays bounded."""
    daemon = make()
    daemon.start()
    path, cwd = daemon.begin("s1"), str(daemon.project)

    def record(words: str) -> bytes:
        return line(prompt_record("s1", words, cwd))

    append(path, record("Prefers amber-1")[:-1] + record("Prefers amber-2"))
    append(path, b"\0" * 5000 + record("Prefers amber-3"))
    append(path, record("Prefers cut off")[:120] + record("Prefers amber-4"))
    append(path, b'{"type":"user","message":{"content":"\xff\xfe broken\n' + record("Prefers amber-5"))
    append(
        path,
        b'{"type":"never-heard-of","sessionId":"s1","text":1}\n[1,2]\nnull\n\n' + record("Prefers amber-6"),
    )
    for _ in range(64):
        append(path, b'{"type":"user","x":"' + b"y" * MEGABYTE)
    append(path, b'"}\n' + record("Prefers amber-7"))
    goes_on(daemon)
    assert sorted(daemon.put_to_model()) == [*(f"Prefers amber-{n}" for n in range(1, 8)), "Prefers health-1"]
    lines = daemon.status()["watching"]["lines"]
    assert lines["long"] == 1
    assert lines["damaged"] >= 3
    assert lines["unknown type: never-heard-of"] == 1
    assert _peak_memory(daemon) < 160 * MEGABYTE


def _peak_memory(daemon: Daemon) -> int:
    """Bytes; 0 if the system does not report them."""
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status")
    found = (
        [one.split()[1] for one in status.read_text().splitlines() if one.startswith("VmHWM")]
        if status.exists()
        else []
    )
    return int(found[0]) * 1024 if found else 0


def test_shrunken_rewritten_and_vanished_transcripts(make: MakeDaemon) -> None:
    """DESIGN "Sources": read again from 0; what was handled is not paid for again, what is new is learned."""
    daemon = make()
    daemon.start()
    path, cwd = daemon.begin("s1"), str(daemon.project)
    records = [line(prompt_record("s1", f"Prefers amber-{number}", cwd)) for number in range(4)]
    append(path, b"".join(records[:3]))
    daemon.sync()
    path.write_bytes(opening("s1") + records[0])
    daemon.sync()
    append(path, records[3])
    daemon.sync()
    assert daemon.put_to_model() == [f"Prefers amber-{number}" for number in range(4)]
    path.unlink()
    daemon.sync()
    goes_on(daemon)
    replaced = path.with_name("new")
    replaced.write_bytes(records[2] + line(prompt_record("s1", "Prefers basalt-5", cwd)))
    replaced.rename(path)
    daemon.sync()
    assert daemon.put_to_model()[-1] == "Prefers basalt-5"
    assert len(daemon.put_to_model()) == 6
    folder = path.parent
    folder.rename(folder.with_name("renamed"))
    daemon.sync()
    assert len(daemon.put_to_model()) == 6
    shutil.rmtree(daemon.projects)
    daemon.projects.mkdir()
    daemon.type_("s9", "Prefers chalk-6")
    daemon.sync()
    assert daemon.put_to_model()[-1] == "Prefers chalk-6"


def test_words_typed_in_a_directory_that_is_gone_wait_for_it(make: MakeDaemon) -> None:
    """Bad input: a `cwd` that no longer exists; the prompts are parked and listed, and learned when it exists again."""
    daemon = make()
    gone = daemon.new_project("gone", git=False)
    daemon.start()
    gone.rmdir()
    daemon.type_("s1", "Prefers amber-1", gone)
    goes_on(daemon)
    (parked,) = daemon.sync()
    assert parked["reason"] == f"{gone}: the working directory does not exist"
    assert "restore the directory" in parked["hint"]
    assert not gone.exists()
    gone.mkdir()
    daemon.restart()
    assert daemon.sync() == []
    assert daemon.put_to_model()[-1] == "Prefers amber-1"


def test_the_home_directory_is_no_project(make: MakeDaemon) -> None:
    """DESIGN "Where it writes": nothing is written in it, nothing is paid for, and `status` has the reason."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "Prefers amber-1", daemon.home)
    goes_on(daemon)
    assert daemon.put_to_model() == ["Prefers health-1"]
    assert sorted(path.name for path in daemon.home.iterdir()) == [".claude", "work"]
    assert "prompts left out: no project (`tacitd prompts` says where): 1" in daemon.cli("status").stdout


def _utf16(daemon: Daemon) -> None:
    (daemon.project / "LEARNED.md").write_bytes("# Mine\n- é\n".encode("utf-16"))


def _conflict(daemon: Daemon) -> None:
    text = "# Mine\n<<<<<<< HEAD\n- one\n=======\n- two\n>>>>>>> other\n"
    (daemon.project / "LEARNED.md").write_text(text)


def _leads_out(daemon: Daemon) -> None:
    (daemon.home / "mine.md").write_text("# Mine\n")
    (daemon.project / "LEARNED.md").symlink_to(daemon.home / "mine.md")


@pytest.mark.parametrize("spoil", [_utf16, _conflict, _leads_out])
def test_a_learned_file_that_cannot_be_spliced_waits(
    make: MakeDaemon, spoil: Callable[[Daemon], None]
) -> None:
    """Bad input: LEARNED.md that is not UTF-8, in a merge conflict, or a link out: not touched, facts kept, one line."""
    daemon = make(DISPATCH__FIRST_PAUSE="1h")
    daemon.start()
    spoil(daemon)
    learned = daemon.project / "LEARNED.md"
    before = learned.read_bytes()
    daemon.type_("s1", "Prefers amber-1")
    parked = daemon.synthesize()
    assert parked and all(str(learned) in one["what"] + one["reason"] and one["hint"] for one in parked)
    lines = daemon.cli("status").stdout.splitlines()
    assert any(line.startswith("parked    learning:") and str(learned) in line for line in lines)
    assert learned.read_bytes() == before
    assert len(raw_files(daemon.project)) == 1
    goes_on(daemon)
    learned.unlink()
    assert daemon.sync() == []
    assert daemon.learned == ["Prefers amber-1"]
    assert f"learning.file:{daemon.project}" not in degraded(daemon)


def test_broken_lines_in_the_raw_file_are_kept_and_stop_nothing(make: MakeDaemon) -> None:
    """SPEC S-21: other programs write into the raw file; bad lines stay and are named, good lines count as facts."""
    daemon = make()
    daemon.start()
    daemon.type_("s1", "hello")  # files that exist before the project is first seen are not tacitd's
    daemon.sync()
    tmp = daemon.project / "tmp"
    tmp.mkdir(exist_ok=True)
    theirs = {"ts": "2026-11-20T07:00:00Z", "facts": ["Prefers basalt-2"]}
    broken = b'{"ts": "2026-11-20T07:00:00Z", "fac\nnot json at all\n[]\n'
    with (tmp / "learning-raw.jsonl").open("ab") as file:
        file.write(broken + json.dumps(theirs).encode())  # without a newline: the file waits for a second
    daemon.type_("s1", "Prefers amber-1")
    daemon.wait_until(lambda _: daemon.synthesize() == [], "the facts")
    assert sorted(daemon.learned) == ["Prefers amber-1", "Prefers basalt-2"]
    assert (tmp / "learning-raw.jsonl").read_bytes() == broken
    assert "3 lines" in degraded(daemon)[f"learning.raw:{daemon.project}"]
    goes_on(daemon)


def test_a_read_only_project_waits_before_money_is_spent(make: MakeDaemon) -> None:
    """Bad input: a read-only project; this is checked before the model is called."""
    daemon = make()
    daemon.before = bound()
    daemon.start()
    daemon.project.chmod(0o500)
    try:
        daemon.type_("s1", "Prefers amber-1")
        (parked,) = daemon.sync()
        assert "is read-only" in parked["reason"]
        assert daemon.claude.calls() == []
        goes_on(daemon)
    finally:
        daemon.project.chmod(0o700)
    assert daemon.sync() == []
    assert "Prefers amber-1" in daemon.put_to_model()


def test_a_start_that_fails_says_why_to_who_asked_for_it(make: MakeDaemon) -> None:
    """DESIGN "Service": `tacitd start` prints the error that the detached process found."""
    daemon = make()
    (daemon.state / "lock").mkdir(0o700, parents=True)
    daemon.state.chmod(0o700)
    said = daemon.cli("start")
    assert said.returncode == 1, said.stderr
    assert f"{daemon.state / 'lock'}: Is a directory" in said.stderr and "move it away" in said.stderr
    assert "it printed nothing" not in said.stderr
