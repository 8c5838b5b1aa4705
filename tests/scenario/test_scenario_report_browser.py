"""`tacitd report` in headless Chromium: no request, no console message, readable on a phone in both schemes.

It is skipped where no Chromium is installed.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import threading
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tacitd.report.page import render_page
from tacitd.report.sections import ReportSection, ReportSeries, ReportTable

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), "")
pytestmark = [pytest.mark.scenario, pytest.mark.skipif(not PROGRAM, reason="no Chromium is installed")]
HOSTILE = '<img src="http://127.0.0.1:9/x" onerror="document.title=1"><script>document.title=2</script>'
LONG = "averyveryverylongword" * 8
GROUNDS = {"light": (0xFD, 0xFD, 0xFC), "dark": (0x15, 0x17, 0x1B)}
FILLS = {"light": (0x2F, 0x6F, 0xB3), "dark": (0x6F, 0xA8, 0xE6)}


def sample_page() -> str:
    """A page with every kind of part, long words, and text of a hostile repository."""
    weeks = tuple((f"2026-01-{day:02d}", float(day % 5)) for day in range(1, 29, 2))
    rows = (("Use pnpm", "shop/LEARNED.md", 3), (HOSTILE, LONG, None), (LONG, "x", 1234567))
    parts = (
        ReportSeries("Lines by week", weeks),
        ReportSeries("Dollars", weeks, "$"),
        ReportTable("Lines", ("line", "file", "said"), rows),
    )
    return render_page("What tacitd learned", "All projects", [ReportSection("Learned", parts, HOSTILE)])


class _Pages(SimpleHTTPRequestHandler):
    """Serves one directory and notes what is asked for."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a directory with the page, and the paths that were asked for."""
    (tmp_path / "report.html").write_text(sample_page(), encoding="utf-8")
    asked: list[str] = []
    handler = type("Pages", (_Pages,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/report.html", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browse(address: str, profile: Path, *options: str) -> tuple[str, str]:
    """Load the address; return what the browser printed and what it logged."""
    common = [
        PROGRAM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
    ]
    command = [*common, f"--user-data-dir={profile}", *options, address]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_page_asks_for_nothing_and_logs_nothing(served: tuple[str, list[str]], tmp_path: Path) -> None:
    """No request but the page itself, no console message, and nothing of a stranger's text ran."""
    address, asked = served
    document, log = browse(address, tmp_path / "profile", "--dump-dom")
    assert asked == ["/report.html"]
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []
    assert "<title>What tacitd learned</title>" in document and "&lt;script&gt;" in document


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000])
def test_its_screenshot_is_readable(scheme: str, width: int, tmp_path: Path) -> None:
    """The ground has the colour of the scheme, bars are there, and the margins are empty: nothing is wider than the window."""
    (tmp_path / "page.html").write_text(sample_page(), encoding="utf-8")
    picture = tmp_path / "page.png"
    browse(
        (tmp_path / "page.html").as_uri(),
        tmp_path / "profile",
        f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}",
        f"--window-size={width},2600",
        f"--screenshot={picture}",
    )
    rows = read_png(picture)
    colours = Counter(pixel for row in rows for pixel in row)
    assert colours.most_common(1)[0][0] == GROUNDS[scheme]
    assert colours[FILLS[scheme]] > 1_000
    assert len(rows[0]) == width
    assert {pixel for row in rows for pixel in (*row[:12], *row[-12:])} == {GROUNDS[scheme]}


def read_png(file: Path) -> list[list[tuple[int, int, int]]]:
    """The pixels of a PNG of 8 bits for each of red, green and blue (and alpha), row by row."""
    data, at, packed = file.read_bytes(), 8, b""
    width = height = size = 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
            size = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += length + 12
    raw, stride, rows = zlib.decompress(packed), width * size, []
    above = bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        above = _unfilter(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above, size)
        rows.append([(above[n], above[n + 1], above[n + 2]) for n in range(0, stride, size)])
    return rows


def _unfilter(kind: int, line: bytearray, above: bytearray, size: int) -> bytearray:
    """Take back the filter of one row, as the PNG specification, section 9, defines the five."""
    for n in range(len(line)):
        left = line[n - size] if n >= size else 0
        corner = above[n - size] if n >= size else 0
        if kind == 4:
            guess = left + above[n] - corner
            near = min((left, above[n], corner), key=lambda value: abs(guess - value))
        else:
            near = (0, left, above[n], (left + above[n]) // 2)[kind]
        line[n] = (line[n] + near) & 0xFF
    return line
