"""A disk that does not answer: `status` and other projects go on (RELIABILITY 20b). A library loaded before the C library lets
calls of the real daemon hang."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support_daemon import Daemon, MakeDaemon, bullets, until
from support_store import build_shim
from support_waiting import PATIENCE

pytestmark = pytest.mark.scenario
STALL = r"""
#define _GNU_SOURCE
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
int access(const char *path, int mode) { stall(path); REAL(may, "access"); return real(path, mode); }
int open64(const char *path, int flags, ...) {
    va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more);
    stall(path); REAL(opens, "open64"); return real(path, flags, mode);
}
"""
LIMIT = 1.0
"""Seconds within which `status` answers."""


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
