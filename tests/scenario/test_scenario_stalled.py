"""A disk that does not answer: `status` and other projects go on (RELIABILITY 20b). A library loaded before the C library lets
calls of the real daemon hang."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support_daemon import Daemon, MakeDaemon, bullets, until
from support_store import build_shim
from support_waiting import PATIENCE
from tacitd.errors import TacitdError

pytestmark = pytest.mark.scenario
STALL = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* The file STALLED contains the path of a directory: as long as it does, no call about a path in it returns. */
static void stall(const char *path) {
    for (;;) {
        char root[4096];
        const char *name = getenv("STALLED");
        FILE *file = name ? fopen(name, "r") : NULL;
        if (!file) return;
        char *found = fgets(root, sizeof root, file);
        fclose(file);
        if (!found || !*root || !path || strncmp(path, root, strlen(root))) return;
        usleep(20000);
    }
}
#define REAL(type, name) type real = (type)dlsym(RTLD_NEXT, name)
typedef int (*one)(const char *, struct stat *);
typedef int (*at)(int, const char *, struct stat *, int);
typedef DIR *(*opens_directory)(const char *);
typedef int (*may)(const char *, int);
typedef int (*opens)(const char *, int, ...);
int stat(const char *path, struct stat *to) { stall(path); REAL(one, "stat"); return real(path, to); }
int lstat(const char *path, struct stat *to) { stall(path); REAL(one, "lstat"); return real(path, to); }
int stat64(const char *path, struct stat64 *to) { stall(path); REAL(one, "stat64"); return real(path, (struct stat *)to); }
int lstat64(const char *path, struct stat64 *to) { stall(path); REAL(one, "lstat64"); return real(path, (struct stat *)to); }
int fstatat(int fd, const char *path, struct stat *to, int flags) { stall(path); REAL(at, "fstatat"); return real(fd, path, to, flags); }
int fstatat64(int fd, const char *path, struct stat64 *to, int flags) {
    stall(path); REAL(at, "fstatat64"); return real(fd, path, (struct stat *)to, flags);
}
DIR *opendir(const char *path) { stall(path); REAL(opens_directory, "opendir"); return real(path); }
int access(const char *path, int mode) { stall(path); REAL(may, "access"); return real(path, mode); }
int open64(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more);
    stall(path); REAL(opens, "open64"); return real(path, flags, mode);
}
"""
LIMIT = 1.0
"""Seconds within which `status` answers."""
COMMAND, STOP = 20.0, 6.0
"""Seconds within which a command, and an end or a start, is over on a slow machine that runs other tests."""


def build_stall(directory: Path) -> Path:
    """Compile the library that lets calls about a directory hang; the test is skipped without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler, or no LD_PRELOAD")
    source, library = directory / "stall.c", directory / "stall.so"
    source.write_text(STALL)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def ask_until(daemon: Daemon, condition: Callable[[], bool]) -> list[float]:
    """Ask for the status until the condition is true; return how many seconds each answer took."""
    took = list[float]()

    def holds() -> bool:
        begun = time.monotonic()
        daemon.status()
        took.append(time.monotonic() - begun)
        return condition()

    until(holds, PATIENCE, daemon.said)
    return took


def has_line(project: Path, text: str) -> bool:
    """Whether what the words became stands in the project."""
    raw = project / "tmp" / "learning-raw.jsonl"
    return text in bullets(project / "LEARNED.md") or (raw.exists() and text in raw.read_text("utf-8"))


def test_a_project_whose_disk_hangs_stops_nobody(make: MakeDaemon, tmp_path: Path) -> None:
    """RELIABILITY 20b: while no `stat` below one project's root returns, `status` answers within a second and a prompt of another
    project is handled; those of the project itself are, once its disk answers."""
    stalled = tmp_path / "stalled"
    stalled.touch()
    daemon = make(EXTRACTION__SETTLE="1s")
    mount = daemon.new_project("mount", git=False)
    daemon.environ |= {"LD_PRELOAD": str(build_stall(tmp_path)), "STALLED": str(stalled)}
    daemon.start()
    daemon.type_("s1", "Prefers tabs here", mount)
    ask_until(daemon, lambda: has_line(mount, "Prefers tabs here"))
    stalled.write_text(str(mount))
    daemon.type_("s1", "Prefers spaces here", mount)
    daemon.type_("s2", "Prefers pnpm over npm")
    took = ask_until(daemon, lambda: has_line(daemon.project, "Prefers pnpm over npm"))
    assert max(took) < LIMIT, sorted(took)[-5:]
    stalled.write_text("")
    ask_until(daemon, lambda: has_line(mount, "Prefers spaces here"))


class Mount:
    """A daemon with a project that was learned in and whose disk may hang, and another one beside it."""

    def __init__(self, make: MakeDaemon, directory: Path) -> None:
        self.stalled = directory / "stalled"
        self.stalled.touch()
        self.daemon = make(EXTRACTION__SETTLE="1s")
        self.root = self.daemon.new_project("mount", git=False)
        self.daemon.environ |= {"LD_PRELOAD": str(build_stall(directory)), "STALLED": str(self.stalled)}
        self.daemon.start()
        self.daemon.type_("s1", "Prefers tabs here", self.root)
        self.daemon.type_("s2", "Prefers pnpm over npm")
        self.daemon.synthesize(self.root)
        self.daemon.synthesize()
        assert bullets(self.root / "LEARNED.md") == ["Prefers tabs here"]

    def stall(self) -> None:
        self.stalled.write_text(str(self.root))

    def answer(self) -> None:
        self.stalled.write_text("")

    def run(self, *arguments: str) -> str:
        """What a command prints that is run in the other project."""
        begun = time.monotonic()
        done = self.daemon.cli(*arguments, cwd=self.daemon.project)
        assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
        assert time.monotonic() - begun < COMMAND, arguments
        return done.stdout + done.stderr


@pytest.fixture
def mount(make: MakeDaemon, tmp_path: Path) -> Iterator[Mount]:
    made = Mount(make, tmp_path)
    yield made
    made.answer()


def test_commands_of_other_projects_go_on(mount: Mount) -> None:
    """RELIABILITY 20b: what a person asks in another project is answered, also before anything was typed in the one whose disk
    hangs; `doctor` names it."""
    mount.stall()
    assert "Prefers pnpm over npm" in mount.run("learned")
    mount.run("context")
    mount.run("sync")
    mount.daemon.type_("s3", "Prefers ruff over flake8")
    mount.run("synthesize")
    assert "Prefers ruff over flake8" in mount.daemon.learned
    assert str(mount.root) in mount.run("status")
    assert f"{mount.root} does not answer" in mount.run("doctor")


def test_sessions_of_both_start(mount: Mount) -> None:
    """RELIABILITY 20b: while sessions begin in both projects, those of the other one get their text, and no caller is turned away."""
    mount.stall()

    def begin(number: int) -> str:
        at = (mount.root, mount.daemon.project)[number % 2]
        data = {"session_id": f"n{number}", "transcript_path": str(mount.daemon.transcript(f"n{number}", at))}
        data |= {"cwd": str(at), "hook_event_name": "SessionStart", "source": "startup"}
        return str(mount.daemon.call("session_text", COMMAND, input=data)["text"])

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(begin, range(80)))
    assert all("Prefers pnpm over npm" in text for text in texts[1::2]) and not any(texts[::2])
    begun = time.monotonic()
    mount.daemon.status()
    assert time.monotonic() - begun < LIMIT
    mount.run("status")


@pytest.mark.parametrize("known", [True, False])
def test_a_daemon_beside_a_hanging_disk_ends_in_time_and_starts(mount: Mount, known: bool) -> None:
    """RELIABILITY 14, 20b: it ends within two seconds, whether it has met the hanging disk or not, though it wrote a file there a
    moment ago; and it starts."""
    mount.stall()
    if known:
        mount.daemon.type_("s1", "Prefers spaces here", mount.root)
        mount.daemon.type_("s3", "Prefers ruff over flake8")
        mount.daemon.synthesize()
    assert mount.daemon.stop() < STOP
    mount.daemon.start(STOP)
    mount.daemon.type_("s4", "Prefers uv over pip")
    mount.daemon.synthesize()
    assert "Prefers uv over pip" in mount.daemon.learned


def test_a_task_that_hangs_holds_up_no_other_and_no_end(mount: Mount) -> None:
    """RELIABILITY 14, 20b: a person undoes a change on the hanging disk, which takes a worker; `sync` in the other project returns, and
    the end is orderly."""
    changes = json.loads(mount.daemon.cli("history", "--json", cwd=mount.root).stdout)
    mount.stall()
    with ThreadPoolExecutor(1) as pool:
        undone = pool.submit(mount.daemon.call, "undo", id=changes[0]["id"])
        until(
            lambda: bool(mount.daemon.status()["handlers"]["learning"]["busy"]), PATIENCE, mount.daemon.said
        )
        mount.daemon.type_("s3", "Prefers ruff over flake8")
        mount.run("synthesize")
        assert "Prefers ruff over flake8" in mount.daemon.learned
        assert mount.daemon.stop() < 2 * STOP
        assert isinstance(undone.exception(PATIENCE), TacitdError)
    mount.answer()
    mount.daemon.start()
    until(lambda: not bullets(mount.root / "LEARNED.md"), PATIENCE, mount.daemon.said)


def test_what_a_person_edits_on_a_hanging_disk_is_noticed_once_it_answers(mount: Mount) -> None:
    """RELIABILITY 20b, X-07: an edit that was made while the disk hung, and a line that was typed there."""
    mount.stall()
    mount.daemon.type_("s1", "Prefers spaces here", mount.root)
    mount.run("sync")
    learned = mount.root / "LEARNED.md"
    learned.write_text(
        learned.read_text("utf-8").replace("Prefers tabs here", "Prefers two tabs here"), "utf-8"
    )
    mount.run("sync")
    mount.answer()

    def is_known() -> bool:
        mount.daemon.synthesize(mount.root)
        said = mount.daemon.cli("learned", cwd=mount.root).stdout
        return "Prefers two tabs here" in said and "Prefers spaces here" in said

    until(is_known, PATIENCE, mount.daemon.said)
    assert bullets(learned) == ["Prefers two tabs here", "Prefers spaces here"]


def test_a_disk_whose_syncs_are_slow_delays_no_answer(make: MakeDaemon, tmp_path: Path) -> None:
    """RELIABILITY 20b, DESIGN "The store": while each fsync takes three seconds, `status` answers within one, and a prompt of
    another project is handled."""
    fault = tmp_path / "fault"
    fault.touch()
    daemon = make(EXTRACTION__SETTLE="1s")
    other = daemon.new_project("other")
    daemon.environ |= {"LD_PRELOAD": str(build_shim(tmp_path)), "FAULT": str(fault)}
    daemon.start()
    daemon.type_("s1", "Prefers pnpm over npm")
    ask_until(daemon, lambda: has_line(daemon.project, "Prefers pnpm over npm"))
    fault.write_text("slow 3000000")
    daemon.type_("s2", "Prefers tabs here", other)
    took = ask_until(daemon, lambda: has_line(other, "Prefers tabs here"))
    fault.write_text("")
    assert max(took) < LIMIT, sorted(took)[-5:]
