"""The rules of the code base: the contents of modules and of the wheel.

The sources are parsed with `ast`; tacitd itself is imported only in child processes. A test that fails lists the
modules with what is wrong in each.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from support_sources import (
    PACKAGES,
    ROOT,
    engine,
    find_wrong,
    plugins,
    project,
)

# --- source roots, distribution -----------------------------------------------------------------------------


def test_source_roots_are_not_packages() -> None:
    """DESIGN "The tree": an __init__.py in `daemon/` would shadow python-daemon."""
    assert [name for name in ("daemon", "handlers") if (ROOT / name / "__init__.py").exists()] == []


def test_import_daemon_is_python_daemon() -> None:
    """DESIGN "The tree": `import daemon` still means python-daemon, also in the root of the checkout."""
    code = "import daemon; print(daemon.DaemonContext.__module__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "daemon.daemon"


def test_the_wheel_contains_only_our_packages(tmp_path: Path) -> None:
    """DESIGN "The tree": the wheel contains only tacitd and tacitd_handlers, with their prompts and templates."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in names} == {"tacitd", "tacitd_handlers"}
    sources = {m.path.relative_to(ROOT / "daemon").as_posix() for m in engine()}
    sources |= {m.path.relative_to(ROOT / "handlers").as_posix() for m in plugins()}
    prompts = {p.relative_to(ROOT / "handlers").as_posix() for p in (ROOT / "handlers").rglob("prompts/*.md")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert prompts
    assert prompts | {"tacitd/py.typed", "tacitd_handlers/py.typed"} <= names
    templates = {f"tacitd/service/templates/{name}" for name in ("tacitd.service", "dev.tacitd.plist")}
    assert {name for name in names if "/templates/" in name} == templates
    assert [name for name in names if "slash_commands" in name] == []  # only the plugin's copies are used
    plugin = {
        p.relative_to(ROOT).as_posix()
        for place in (".claude-plugin", "plugin")
        for p in (ROOT / place).rglob("*")
    }
    plugin = {name for name in plugin if (ROOT / name).is_file()}
    assert {
        name.removeprefix("tacitd/claude_plugin/") for name in names if "/claude_plugin/" in name
    } == plugin


def _dependencies(*, dev: bool) -> list[str]:
    extras = project()["optional-dependencies"]
    return [*project()["dependencies"], *(extras["dev"] if dev else ())]


def test_every_dependency_has_a_floor_and_a_ceiling() -> None:
    """DESIGN "Sources", "Service": APScheduler 4 has another API, and watchdog 7.0 misses appends."""
    every = _dependencies(dev=True)
    assert [one for one in every if not re.fullmatch(r"[\w-]+(\[\w+\])?>=[\d.]+,<\d+(\.\d+)*", one)] == []
    assert any(re.fullmatch(r"apscheduler>=3\.[\d.]+,<4", one) for one in every)
    assert any(re.fullmatch(r"watchdog>=7\.[1-9][\d.]*,<8", one) for one in every)


def test_every_import_is_a_declared_dependency() -> None:
    """DESIGN "The tree": modules import the standard library, our packages, and what pyproject.toml declares."""
    declared = {re.split(r"[>\[]", one)[0].replace("-", "_") for one in _dependencies(dev=False)}
    known = {*sys.stdlib_module_names, *PACKAGES, "daemon", "yaml", *declared}  # of python-daemon and PyYAML
    assert (
        find_wrong([*engine(), *plugins()], lambda m: {name.split(".")[0] for name in m.imports} - known)
        == {}
    )


# --- the contents of modules --------------------------------------------------------------------------------


WORKPLACE = (
    "/fa" + "rm/",
    r"(?<![\w~.-])/wo" + "rk/",
    r"\.libr" + "ary",
    "DEVELOP" + r"ERS\.md",
    r"\.\./sha" + "red",
)


def test_the_repository_names_no_workplace() -> None:
    """No file contains a path or a name of the place where it was written."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    paths = [
        ROOT / name for name in listed.stdout.decode().split("\0") if name and not name.startswith(".ci/")
    ]
    if not paths:
        pytest.skip("not a git checkout, or no git")
    pattern = re.compile("|".join(WORKPLACE))
    texts = {path: path.read_bytes().decode("utf-8", "replace") for path in paths if path.is_file()}
    assert [str(path) for path, text in texts.items() if pattern.search(text)] == []
