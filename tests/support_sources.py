"""Our sources as trees: what a module imports, calls and says. For the tests of the house and of the documents."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = frozenset({"tacitd", "tacitd_handlers"})


@dataclass(frozen=True)
class Module:
    """A module of ours."""

    name: str
    path: Path
    text: str

    @property
    def lines(self) -> int:
        """How long it is."""
        return self.text.count("\n")

    @cached_property
    def tree(self) -> ast.Module:
        """What it says. To parse takes long: the tests' own modules are read as text where that will do."""
        return ast.parse(self.text)

    @property
    def part(self) -> str:
        """See `part_of`."""
        return part_of(self.name)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every module that it imports, wherever in it, but for types only; and every name, as if it were one."""
        return frozenset(_imported(self.tree))

    @property
    def parts(self) -> set[str]:
        """The parts of the engine that it imports."""
        return {part_of(name) for name in self.imports if name.split(".")[0] == "tacitd"} - {""}

    @property
    def strings(self) -> list[str]:
        """Every string that it uses; docstrings are for developers, and left out."""
        notes = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        texts = [n for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and id(n) not in notes]
        return [node.value for node in texts if isinstance(node.value, str)]

    @property
    def calls(self) -> set[str]:
        """What it calls, as written: `print`, `time.sleep`."""
        calls = (node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return {ast.unparse(one) for one in calls if isinstance(one, ast.Name | ast.Attribute)}


def part_of(name: str) -> str:
    """The part of the engine that a module is in: `files` of `tacitd.files.log`, `clock` of `tacitd.clock`."""
    return name.split(".")[1] if "." in name else ""


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in _at_run_time(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`."""
    if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _at_run_time(child)


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """All modules below a folder of the repository, named as they are imported."""
    base = ROOT / folder
    found = []
    for path in sorted(base.rglob("*.py")):
        name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        found.append(Module(name, path, path.read_text(encoding="utf-8")))
    return tuple(found)


def engine() -> tuple[Module, ...]:
    return modules("daemon")


def slices() -> tuple[Module, ...]:
    return modules("handlers")


@cache
def project() -> dict[str, Any]:
    """The `project` table of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def mounted(commands: Iterable[str]) -> list[Module]:
    """Every module that a command (`module:name`) or a slice leads to. What nobody can reach yet says nothing yet."""
    every = {module.name: module for module in (*engine(), *slices())}
    starts = [
        *commands,
        *project()["entry-points"]["tacitd.handlers"].values(),
        *project()["scripts"].values(),
    ]
    waiting, found = [one.partition(":")[0] for one in starts], dict[str, Module]()
    while waiting:
        module = every.get(waiting.pop())
        if module is not None and module.name not in found:
            found[module.name] = module
            waiting += module.imports
    return list(found.values())
