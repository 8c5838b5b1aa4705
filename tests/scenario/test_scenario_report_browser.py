"""`tacitd report` in a real headless browser: no request, no console message, readable at 400 px in both schemes.

It is skipped where no Chromium is installed.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tacitd.report.page import render_page
from tacitd.report.sections import ReportSection, ReportSeries, ReportTable

pytestmark = pytest.mark.scenario
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PROGRAM = next((found for name in NAMES if (found := shutil.which(name))), "")
HOSTILE = '<img src="http://127.0.0.1:9/x" onerror="document.title=1"><script>document.title=2</script>'
LONG = "averyveryverylongword" * 8

MEASURE = """
const smallest = Math.min(...[...document.querySelectorAll('text')].map(t => t.getBoundingClientRect().height));
const texts = [...document.querySelectorAll('svg .label')].map(t => t.getBoundingClientRect());
const overlap = texts.some((a, i) => texts.some((b, j) => i < j && a.top == b.top && a.left < b.right && b.left < a.right));
const style = getComputedStyle(document.body);
document.documentElement.dataset.measured = JSON.stringify({
  width: innerWidth, scroll: document.documentElement.scrollWidth, smallest, overlap,
  ground: style.backgroundColor, text: style.color, title: document.title,
  dark: matchMedia('(prefers-color-scheme: dark)').matches});
"""


def sample_page() -> str:
    """A page with every kind of part, long words, and text of a hostile repository."""
    weeks = tuple((f"2026-01-{day:02d}", float(day % 5)) for day in range(1, 29, 2))
    rows = (("Use pnpm", "shop/LEARNED.md", 3), (HOSTILE, LONG, None), (LONG, "x", 1234567))
    parts = (
        ReportSeries("Lines by week", weeks),
        ReportSeries("Per cent", weeks, form="points"),
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


def browse(address: str, profile: Path, *options: str, width: int = 400) -> tuple[str, str]:
    """Load the address; return the document and what the browser logged."""
    if not PROGRAM:
        pytest.skip("no Chromium is installed")
    common = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={profile}",
        "--enable-logging=stderr",
    ]
    size = f"--window-size={width},2000"
    done = subprocess.run(
        [PROGRAM, *common, size, *options, "--dump-dom", address],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_page_asks_for_nothing_and_logs_nothing(served: tuple[str, list[str]], tmp_path: Path) -> None:
    """No request but the page itself, no console message, and nothing of a stranger's text ran."""
    address, asked = served
    document, log = browse(address, tmp_path / "profile")
    assert asked == ["/report.html"]
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []
    assert "<title>What tacitd learned</title>" in document and "&lt;script&gt;" in document


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000])
def test_it_is_readable(scheme: str, width: int, tmp_path: Path) -> None:
    """Nothing is wider than the window, text of charts keeps its size and does not overlap, and both schemes have contrast.

    The page's policy forbids scripts, so the script that measures is added to a copy without the policy.
    """
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", sample_page())
    file = tmp_path / "measured.html"
    file.write_text(page.replace("</body>", f"<script>{MEASURE}</script></body>"), encoding="utf-8")
    dark = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    document, _ = browse(file.as_uri(), tmp_path / "profile", dark, width=width)
    found = re.search(r'data-measured="([^"]*)"', document)
    assert found is not None
    measured = json.loads(found[1].replace("&quot;", '"'))
    assert measured["dark"] == (scheme == "dark") and measured["width"] == width
    assert measured["scroll"] <= width
    assert measured["smallest"] >= 12 and not measured["overlap"]
    assert _contrast(measured["ground"], measured["text"]) > 7


def _contrast(ground: str, text: str) -> float:
    """The contrast of two colours (`rgb(1, 2, 3)`) as WCAG 2 defines it."""
    light, dark = sorted((_luminance(ground), _luminance(text)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
