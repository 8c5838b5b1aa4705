"""Print the size of each folder of the source tree beside its budget, and names that occur twice (`make style`).

    python scripts/print_style.py [ROOT]

Lines are all lines of a folder's Python files, docstrings and blank ones included; statements are those of the syntax
tree, so that they do not depend on the formatting. A budget is a guide to the size of an idea, and no test reads it.
The exit code is 1 if a module name occurs more than once in the tree, or a class name more than
once in its package.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ENGINE, HANDLERS = "daemon/tacitd", "handlers/tacitd_handlers"
PLUGIN_NAMES = frozenset(
    {
        "handler",
        "settings",
        "store",
        "cli",
        "state",
        "context",
        "render",
        "parse",
        "run",
        "prompt",
    }
) | {"__init__"}
"""Names of modules that every plugin's folder may have."""


@dataclass(frozen=True)
class Part:
    """A line of the table: folders of one package (an empty name: the modules at its root), and their budget."""

    package: str
    folders: tuple[str, ...]
    budget: int


PARTS = (
    Part(ENGINE, ("",), 2200),
    Part(ENGINE, ("sources",), 3300),
    Part(ENGINE, ("work",), 1500),
    Part(ENGINE, ("files", "text"), 3800),
    Part(ENGINE, ("model",), 1400),
    Part(ENGINE, ("control", "mcp", "session_context"), 1300),
    Part(ENGINE, ("cli", "report"), 2500),
    Part(ENGINE, ("service", "config", "state", "testing"), 2100),
    Part(HANDLERS, ("", "learning", "reach", "shared"), 5100),
    Part(HANDLERS, ("learner",), 2450),
    Part(HANDLERS, ("lessons",), 1700),
    Part(HANDLERS, ("profile",), 1450),
    Part(HANDLERS, ("continuity",), 1400),
    Part(HANDLERS, ("tutor",), 2200),
)
SOURCE_BUDGET, MODULE_BUDGET, TEST_BUDGET = 33_000, 260, 35_000


@dataclass(frozen=True)
class Size:
    """How much code some files hold."""

    lines: int
    modules: int
    statements: int


def measure_files(files: Iterable[Path]) -> Size:
    """Count the lines, modules and statements of `files`."""
    texts = [path.read_text(encoding="utf-8") for path in files]
    statements = sum(isinstance(node, ast.stmt) for text in texts for node in ast.walk(ast.parse(text)))
    return Size(sum(text.count("\n") for text in texts), len(texts), statements)


def list_folder(root: Path, package: str, folder: str) -> list[Path]:
    """Return the Python files of a folder, those of its own folders included; of the root, only its own."""
    top = root / package / folder
    return sorted(top.rglob("*.py") if folder else top.glob("*.py"))


def print_sizes(root: Path) -> Iterator[str]:
    """Yield the lines of the table of sizes."""
    yield f"{'folder':42} {'lines':>7} {'modules':>7} {'statements':>10} {'budget':>7} {'over':>7}"
    for part in PARTS:
        for folder in part.folders if len(part.folders) > 1 else ():
            size = measure_files(list_folder(root, part.package, folder))
            yield f"  {_name(part.package, folder):40} {size.lines:7,} {size.modules:7} {size.statements:10,}"
        files = [path for folder in part.folders for path in list_folder(root, part.package, folder)]
        name = " + ".join(_name(part.package, folder) for folder in part.folders)
        yield _row(name if len(part.folders) == 1 else "  together", measure_files(files), part.budget)
    sources = [path for package in (ENGINE, HANDLERS) for path in sorted((root / package).rglob("*.py"))]
    yield _row("source", measure_files(sources), SOURCE_BUDGET)
    yield f"{'modules beside their budget':42} {'':7} {len(sources):7} {'':10} {MODULE_BUDGET:7,}"
    yield _row("tests", measure_files(sorted((root / "tests").rglob("*.py"))), TEST_BUDGET)


def _row(name: str, size: Size, budget: int) -> str:
    numbers = f"{size.lines:7,} {size.modules:7} {size.statements:10,}"
    return f"{name:42} {numbers} {budget:7,} {max(size.lines - budget, 0):7,}"


def _name(package: str, folder: str) -> str:
    return f"{package.rpartition('/')[2]}/{folder}"


def list_classes(files: Iterable[Path]) -> Iterator[str]:
    """Yield the name of each class, private ones included."""
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def find_repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def main(arguments: list[str]) -> int:
    """Print the tables; return the exit code."""
    root = Path(arguments[0]) if arguments else Path(__file__).parents[1]
    sys.stdout.writelines(f"{line}\n" for line in print_sizes(root))
    packages = {name: sorted((root / name).rglob("*.py")) for name in (ENGINE, HANDLERS)}
    modules = [path.stem for files in packages.values() for path in files if path.stem not in PLUGIN_NAMES]
    repeated = [f"module {name}" for name in find_repeated(modules)]
    for package, files in packages.items():
        repeated += [f"{package}: class {name}" for name in find_repeated(list_classes(files))]
    sys.stdout.writelines(f"{line}\n" for line in repeated)
    return 1 if repeated else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
