"""The plugin of docs/handlers.md, byte for byte: built as a wheel, installed beside tacitd in a fresh environment, and run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from support_beginnings import opening

pytestmark = pytest.mark.scenario
PAGE = Path(__file__).parents[2] / "docs" / "handlers.md"
NAMES = ("tacitd_questions/__init__.py", "tacitd_questions/schema.sql", "test_questions.py", "pyproject.toml")
"""The files of the page, in its order. The blocks below them are fragments."""


class Installed:
    """An environment with tacitd and the plugin, and a home of its own."""

    def __init__(self, tmp: Path) -> None:
        self.source, self.home, self.project = tmp / "source", tmp / "home", tmp / "home" / "app"
        (self.source / NAMES[0]).parent.mkdir(parents=True)
        texts = re.findall(r"^```(?:python|sql|toml)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        for name, text in zip(NAMES, texts[: len(NAMES)], strict=True):
            (self.source / name).write_text(text)
        (wheel,) = WheelBuilder(str(self.source)).build(directory=str(tmp), versions=["standard"])
        shutil.rmtree((self.source / NAMES[0]).parent)  # what runs is what was installed
        venv.create(tmp / "venv", with_pip=False)
        self.python = tmp / "venv" / "bin" / "python"
        (site,) = (tmp / "venv" / "lib").glob("python*/site-packages")
        # `addsitedir` also follows the links of an editable installation; a plain line in a .pth file does not.
        (site / "tacitd.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        install = ["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "--python", str(self.python), *install, wheel]
        subprocess.run(command, check=True)
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=self.source,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )

    def tacitd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = self.run("-m", "tacitd_handlers.entry_point", *arguments)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def type(self, text: str) -> None:
        """A person types; the file is not older than the first start."""
        stamp = datetime.fromtimestamp(time.time() + 1, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        record = {
            "type": "user",
            "message": {"role": "user", "content": text},
            "uuid": "u1",
            "sessionId": "s1",
            "cwd": str(self.project),
            "timestamp": stamp,
            "version": "2.1.328",
        }
        transcript = self.home / ".claude" / "projects" / "p" / "s1.jsonl"
        transcript.parent.mkdir(parents=True)
        transcript.write_bytes(opening("s1", stamp=stamp) + json.dumps(record).encode() + b"\n")


def test_a_plugin_of_another_package_has_every_hook(tmp_path: Path) -> None:
    """Its command, setting, section, explanation and status line are like ours; its own test passes."""
    box = Installed(tmp_path)
    assert box.tacitd("run", "--once").returncode in (0, 75)  # the first start: what is older is not read
    box.type("Which port does the server use?")
    assert box.tacitd("run", "--once").returncode in (0, 75)  # 75: learning waits for claude
    assert box.tacitd("questions").stdout == "Which port does the server use?\n"
    assert "questions  " in box.tacitd("--help").stdout
    sections = json.loads(box.tacitd("context", str(box.project), "--json").stdout)
    assert sections["questions"] == "## Questions so far\n- Which port does the server use?"
    assert "questions 1 questions" in box.tacitd("status").stdout
    assert "from session s1" in box.tacitd("why", "port", "--cwd", str(box.project)).stdout
    assert "questions.longest" in box.tacitd("config", "show").stdout
    box.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    tested = box.run("-m", "pytest", "-q", "-p", "no:cacheprovider", NAMES[2])
    assert tested.returncode == 0 and "1 passed" in tested.stdout, tested.stdout + tested.stderr
    assert not (box.home / ".cache").exists()
