"""Stores in child processes: one that writes until it is killed, and disks that fail below SQLite."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from support_faulty_disk import Crash

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
/* The file FAULT contains "<what> <errno> [<skip>]": sync, write or read fails after so many calls; or "slow <microseconds>"
   for a slow sync. It is read at each call. FAULT.hits gets a byte for each call that failed. */
static void note(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s.hits", getenv("FAULT"));
    FILE *file = fopen(path, "a");
    if (file) { fputc('x', file); fclose(file); }
}
static int fails(const char *what) {
    static int skipped = 0;
    char named[32]; int code = 0, skip = 0;
    FILE *file = fopen(getenv("FAULT"), "r");
    if (!file) return 0;
    int found = fscanf(file, "%31s %d %d", named, &code, &skip);
    fclose(file);
    if (found < 2) { skipped = 0; return 0; }
    if (!strcmp(named, "slow") && !strcmp(what, "sync")) usleep(code);
    if (strcmp(named, what) || skipped++ < skip) return 0;
    note();
    errno = code;
    return 1;
}
#define REAL(name) real_##name real = (real_##name)dlsym(RTLD_NEXT, #name)
typedef int (*real_fsync)(int);
typedef int (*real_fdatasync)(int);
typedef ssize_t (*real_pwrite64)(int, const void *, size_t, off_t);
typedef ssize_t (*real_pread64)(int, void *, size_t, off_t);
int fsync(int fd) { if (fails("sync")) return -1; REAL(fsync); return real(fd); }
int fdatasync(int fd) { if (fails("sync")) return -1; REAL(fdatasync); return real(fd); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    if (fails("write")) return -1;
    REAL(pwrite64); return real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
ssize_t pread64(int fd, void *data, size_t size, off_t at) {
    if (fails("read")) return -1;
    REAL(pread64); return real(fd, data, size, at);
}
ssize_t pread(int fd, void *data, size_t size, off_t at) { return pread64(fd, data, size, at); }
"""
BEGIN = """
import json, os, sys
from pathlib import Path
from tacitd.clock import SystemClock
from tacitd.errors import *
from tacitd.files import mounts
from tacitd.store import Store, open_readonly, savepoint
state = Path(sys.argv[1])
if "MOUNTS" in os.environ:
    mounts.MOUNTS = Path(os.environ["MOUNTS"])
def add(store, number):
    "Add a session by key; 'ok', or what the store says."
    try:
        with store.write() as tx:
            tx.execute("INSERT OR IGNORE INTO shown(session, name, digest, at) VALUES('s', ?, ?, 1)", str(number), b"x" * 3000)
        return "ok"
    except (UnwritableError, StoreLostError) as error:
        return [type(error).__name__, error.what, error.hint]
def count(store):
    return store.rows("SELECT count(*) FROM shown")[0][0]
"""
"""What the programs below begin with."""


class CrashSteps:
    """The `on_step` of a store: the process ends at the n-th durable step after `arm(n)`, and commits nothing after it.

    Each transaction has two: before its commit, and after it.
    """

    def __init__(self) -> None:
        self.trail: list[str] = []
        """The steps since `arm`."""
        self._crash_at = 0

    def arm(self, crash_at: int) -> None:
        """Count from 1 again, and end at this step; 0: never."""
        self.trail.clear()
        self._crash_at = crash_at

    def __call__(self, step: str) -> None:
        self.trail.append(step)
        if 0 < self._crash_at <= len(self.trail):
            raise Crash(step)


def run_store(code: str, state: Path, *, before: tuple[str, ...] = (), **environ: str) -> Any:
    """Run a program with a store in this state directory in a process of its own; what it assigns to `result` is returned."""
    program = BEGIN + textwrap.dedent(code) + "\nprint(json.dumps(result))\n"
    done = subprocess.run(
        [*before, sys.executable, "-c", program, str(state)],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def build_shim(directory: Path) -> Path:
    """Compile the library that lets calls below SQLite fail; the test is skipped without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("there is no C compiler, or no LD_PRELOAD")
    source, library = directory / "shim.c", directory / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


WRITER = (
    BEGIN
    + """
store = Store.open(state, SystemClock())
number = store.rows("SELECT count(*) FROM shown")[0][0]
print("open", flush=True)
while True:
    number += 1
    with store.write() as tx:
        tx.execute("INSERT INTO shown(session, name, digest, at) VALUES('s', ?, ?, 1)", str(number), os.urandom(number % 5000))
        tx.execute("INSERT OR REPLACE INTO setting(key, value) VALUES('number', ?)", str(number))
    print(number, flush=True)
"""
)
"""Writes rows as fast as it can, and prints the number of each when it is durable."""


def start_writer(state: Path, **environ: str) -> subprocess.Popen[str]:
    """Start a process that writes and prints; it has opened the store when this returns."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(state)],
        env=os.environ | environ,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    return writer
