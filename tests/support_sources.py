"""Our sources, parsed: what a module imports and calls, and its strings. For test_house.py and test_docs.py."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Iterator
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
        """The number of lines."""
        return self.text.count("\n")

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source. Parsing is slow, so checks of the tests' own modules use `text` if they can."""
        return ast.parse(self.text)

    @property
    def part(self) -> str:
        """See `part_of`."""
        return part_of(self.name)

    @cached_property
    def imports(self) -> frozenset[str]:
        """Every module that it imports at run time, also inside functions, and every imported name as `module.name`."""
        return frozenset(_imported(self.tree))

    @property
    def parts(self) -> set[str]:
        """The parts of the engine that it imports."""
        return {part_of(name) for name in self.imports if name.split(".")[0] == "tacitd"} - {""}

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree. A walk takes longer than most checks."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def strings(self) -> list[str]:
        """Every string in it, without docstrings."""
        notes = {id(node.value) for node in self.nodes if isinstance(node, ast.Expr)}
        texts = [n for n in self.nodes if isinstance(n, ast.Constant) and id(n) not in notes]
        return [node.value for node in texts if isinstance(node.value, str)]

    @cached_property
    def calls(self) -> set[str]:
        """The names that it calls, as written: `print`, `time.sleep`."""
        calls = (node.func for node in self.nodes if isinstance(node, ast.Call))
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
    """All nodes except those under `if TYPE_CHECKING:`."""
    if isinstance(tree, ast.If) and isinstance(tree.test, ast.Name) and tree.test.id == "TYPE_CHECKING":
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from _at_run_time(child)


@cache
def modules(folder: str) -> tuple[Module, ...]:
    """All modules below a folder of the repository, with the names by which they are imported."""
    base = ROOT / folder
    found = []
    for path in sorted(base.rglob("*.py")):
        name = ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
        found.append(Module(name, path, path.read_text(encoding="utf-8")))
    return tuple(found)


def engine() -> tuple[Module, ...]:
    return modules("daemon")


def plugins() -> tuple[Module, ...]:
    return modules("handlers")


@cache
def project() -> dict[str, Any]:
    """The `project` table of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def mounted(commands: Iterable[str]) -> list[Module]:
    """Every module that can be reached by imports from a command (`module:name`), a plugin or a program."""
    every = {module.name: module for module in (*engine(), *plugins())}
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


def find_wrong(among: Iterable[Module], check: Callable[[Module], Any]) -> dict[str, Any]:
    """What `check` finds in each module, by name, without the modules in which it finds nothing."""
    return {module.name: found for module in among if (found := check(module))}
