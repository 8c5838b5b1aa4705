"""The documentation, compared with the program: generated pages, methods, fields, files, ids, commands, modules."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

import generate
from support_sources import ROOT, Module, mounted
from tacitd.app import App
from tacitd.cli.program import Program
from tacitd.methods import build_methods
from tacitd.plugin import PluginSpec
from tacitd.sources.watch import SilentWatcher
from tacitd.state.paths import Paths
from tacitd.testing import ScriptedModel
from tacitd_handlers.lessons.cli import lesson as lesson_program

DOCS = ROOT / "docs"
TABLE = generate.list_all_commands()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]
COMMAND_PAGES = [*PAGES, *sorted((ROOT / "plugin").rglob("*.md"))]


@cache
def sources() -> list[Module]:
    """What a command or a plugin leads to."""
    return mounted([*(where for where, _, _ in TABLE.values()), *hooks()])


def hooks() -> Iterator[str]:
    """The hooks of our plugins that the daemon calls. Prompts and sections of `context` name settings, not degradations."""
    for one in generate.slices().plugins:
        named = (
            one.run,
            one.status,
            one.footprint,
            *(one.prompt_parts.get(part) for part in ("doctor", "banner", "person-rules")),
            *one.settings.values(),
        )
        yield from filter(None, named)


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def headings(text: str, level: str = "###") -> list[str]:
    return re.findall(rf"^{level} (.+)$", text, re.MULTILINE)


# --- generated pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", generate.PAGES)
def test_generated_pages_are_current(name: str) -> None:
    """STYLE habit 12: `make docs` writes the reference of commands and configuration."""
    assert page(f"docs/{name}") == generate.PAGES[name](), "run `make docs`"


# --- pages that are compared with a running program ----------------------------------------------------------


def test_the_socket_page_is_complete(tmp_path: Path) -> None:
    """docs/socket.md is a contract: it has each method of the socket and each top-level key of the status document, and no other."""
    text, places = page("docs/socket.md"), Paths.from_env({"HOME": str(tmp_path)})
    with App(places, {}, model=lambda config, budget: ScriptedModel(), watcher_for=SilentWatcher) as app:
        methods, status = list(build_methods(app)), app.read_status()
    assert _first_cells(text.partition("| method |")[2].partition("\n\n")[0]) == methods
    assert set(_first_cells(text.partition("| key |")[2])) == set(status)


def _first_cells(table: str) -> list[str]:
    """The names in backticks in the first column of a table."""
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]


def test_the_plugin_of_the_guide_uses_only_what_it_may() -> None:
    """DESIGN "Plugins": a package of another author needs only the `__all__` of the modules that docs/handlers.md lists."""
    guide = page("docs/handlers.md")
    listed = set(
        re.findall(r"`(tacitd\.[\w.]+)`", guide.partition("## What it may import")[2].partition("## ")[0])
    )
    public = {f"{module}.{name}" for module in listed for name in import_module(module).__all__}
    nodes = [
        node
        for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacitd.")
    ]
    used = {f"{node.module}.{name.name}" for node in nodes for name in node.names}
    assert len(used) > 8 and used <= public


def test_the_guide_names_each_field_of_a_plugin() -> None:
    """docs/handlers.md has each field of `PluginSpec` in its table, and no other."""
    rows = page("docs/handlers.md").partition("## The fields")[2].partition("\n\nA tool for agents")[0]
    assert sorted(_first_cells(rows)) == sorted(PluginSpec.__struct_fields__)


# --- commands that are named --------------------------------------------------------------------------------

NAMED = re.compile(
    r"(?:`|^ {4,}|\A(?=(?:tacitd|lesson) [a-z]+\Z)|&& |\$\()(tacitd|lesson)((?: (?:\"[^\"\n]*\"|[^\"`#|&;()<>\n])+)?)",
    re.MULTILINE,
)
"""In backticks, as an indented line, behind `&&`, or as the whole of a hint."""


def _problem(program: str, rest: str) -> str:
    """What click says of a command line whose command, option or number of arguments is wrong; "" if it parses.

    An option at the end may lack its value: prose names options.
    """
    command: click.Command = Program(TABLE) if program == "tacitd" else lesson_program
    context = click.Context(command, info_name=program, help_option_names=["-h", "--help"])
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    try:
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            name = words.pop(0)
            below = command.get_command(context, name)
            if below is None:
                return "" if SYNTAX.search(name) else f"{program} {name}"
            command, context = below, click.Context(below, parent=context, info_name=name)
        _, left, _ = command.make_parser(context).parse_args([w for w in words if not SYNTAX.search(w)])
    except click.BadOptionUsage as error:
        return "" if error.option_name == words[-1] else f"{context.command_path}: {error.format_message()}"
    except click.UsageError as error:
        return f"{context.command_path}: {error.format_message()}"
    return f"{context.command_path}: too many arguments" if left else ""


SYNTAX = re.compile(r"^[\[{]|\.\.\.|…|^COMMAND$")
"""`[TEXT]`, `{bash|zsh}`, `ID...`: no words of a command line."""


@pytest.mark.parametrize(
    ("rest", "right"),
    [
        (" why ID", True),
        (" service logs -f", True),
        (" scan --since", True),
        (" nope", False),
        (" undo --nope ID", False),
        (" why one two", False),
        (" lesson load --path x", False),
    ],
)
def test_a_wrong_command_is_found(rest: str, right: bool) -> None:
    """The checks below can fail: a command, an option and an argument that do not exist."""
    assert (_problem("tacitd", rest) == "") is right


@pytest.mark.parametrize("path", COMMAND_PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages_name_only_commands_that_exist(path: Path) -> None:
    """A command that a page tells people to type exists, with its options."""
    problems = [
        _problem(*found) for found in NAMED.findall(path.read_text(encoding="utf-8").replace("\\\n", ""))
    ]
    assert [problem for problem in problems if problem] == []


def test_hints_name_only_commands_that_exist() -> None:
    """Every command in a hint exists, with its options."""
    said = [
        (module.name, found)
        for module in sources()
        for text in module.strings
        for found in NAMED.findall(text)
    ]
    problems = [(where, found) for where, found in said if _problem(*found)]
    assert problems == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Links within the repository lead to files and headings that exist."""
    for target in re.findall(r"\]\(([^)#:]*(?:#[\w-]+)?)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        found = path.parent / name if name else path
        assert found.is_file(), target
        if anchor:
            names = headings(found.read_text(), "#+")
            assert anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in names}, target


# --- the map of the code ------------------------------------------------------------------------------------

MAPS = ["docs/map.md", "CONTRIBUTING.md"]
PATH_IN_TREE = re.compile(r"(?<![\w./~*-])[a-z]\w*(?:/\w+)*(?:/|\.py)(?![\w*<{-])")
"""`sources/`, `app.py`, `learning/stage1/run.py`: in backticks, in a table or in the tree of a code block."""
MODULE_PATH = re.compile(r"`([a-z]\w*(?:/[a-z]\w*)+)(?::\w+(?:\.\w+)*)?`")
"""`files/locks` and `files/locks:Lock.release`; in the last column of a table's row also `locks`."""

PLACEHOLDERS = {"handlers/tacitd_handlers/yours/"}


@cache
def _tree() -> frozenset[str]:
    """Every Python file and folder of the repository, the latter with a slash at the end."""
    folders = [
        ROOT / name for name in ("daemon", "handlers", "tests", "docs", "benchmarks", "scripts", "systemd")
    ]
    files = [path.relative_to(ROOT) for one in folders for path in one.rglob("*.py")]
    parents = {f"{parent.as_posix()}/" for path in files for parent in path.parents if parent.name}
    return frozenset({*(path.as_posix() for path in files), *parents})


def _is_in_tree(name: str) -> bool:
    return (ROOT / name).exists() or any(f"/{path}".endswith(f"/{name}") for path in _tree())


def _unknown_names(text: str) -> set[str]:
    """The modules, folders and functions that a page names and that do not exist."""
    named = set(PATH_IN_TREE.findall(text)) - PLACEHOLDERS
    unknown = {name for name in named if not _is_in_tree(name)}
    for path in MODULE_PATH.findall(text):
        if not (ROOT / path).is_file() and not _is_in_tree(f"{path}.py"):
            unknown.add(path)
    for row in re.findall(r"^\| `([\w/]+/)`.*\|([^|]*)\|$", text, re.MULTILINE):
        unknown |= {
            row[0] + name for name in re.findall(r"`(\w+)`", row[1]) if not _is_in_tree(f"{row[0]}{name}.py")
        }
    return unknown


@pytest.mark.parametrize("name", MAPS)
def test_maps_name_only_modules_that_exist(name: str) -> None:
    """Modules, folders and functions on the pages about the code exist under these names."""
    assert _unknown_names(page(name)) == set()
