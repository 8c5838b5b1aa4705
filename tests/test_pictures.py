"""The README's pictures: they are what the script draws, and the README shows them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from tacitd_handlers.learning.demo import LINES, TYPED

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "draw_pictures.py"
PICTURES = ROOT / "docs" / "pictures"


def test_the_script_draws_the_stored_pictures(tmp_path: Path) -> None:
    """The pictures in the repository are those of this version: `python scripts/draw_pictures.py` makes the same bytes."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = {one.name: one.read_text(encoding="utf-8") for one in tmp_path.iterdir()}
    stored = {one.name: one.read_text(encoding="utf-8") for one in PICTURES.iterdir()}
    assert drawn.keys() == stored.keys() and len(drawn) == 2
    for name, text in drawn.items():
        assert text == stored[name], f"{name} is out of date: run scripts/draw_pictures.py"


@pytest.mark.parametrize("picture", sorted(PICTURES.iterdir()), ids=lambda one: one.name)
def test_a_picture_is_an_image_without_requests(picture: Path) -> None:
    """Each is well-formed SVG, loads nothing, contains no path of the machine that drew it, and the README shows it."""
    text = picture.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    for word in ("<script", "url(", 'href="http', "src=", str(ROOT), "tacitd-pictures-"):
        assert word not in text
    assert f"(docs/pictures/{picture.name})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_picture_of_the_page_is_of_the_page(drawing: ModuleType) -> None:
    """What follows the page's body and its rules for phones and paper are left out; the text is the page's."""
    page = "<!doctype html>\n<html><head></head>\n<body>\n<main>\n<p>Use pnpm</p>\n</main>\n</body></html>\n"
    drawn = drawing.draw_page("a page", page)
    assert "<p>Use pnpm</p>" in drawn and "</body>" not in drawn and "@media print" not in drawn


def test_the_readme_begins_with_the_demo() -> None:
    """The table below the first paragraph: what was typed, the line, and its file, as the demonstration has them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith('| "')]
    facts = re.findall(r"FILE: (.+)\nSECTION: .+\nFACT: (.+)", LINES)
    assert len(rows) == len(facts) == 2
    for (words, _), (file, fact), (typed, line, where) in zip(TYPED, facts, rows, strict=False):
        assert (typed, line) == (f'| "{words}"', f"`- {fact}`")
        assert where.startswith(f"`{file}`")


@pytest.fixture
def drawing() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("draw_pictures", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
