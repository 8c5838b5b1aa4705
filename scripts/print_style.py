"""Print the style figures of the source tree beside those of the review at commit b05fb44 (`make style`).

    python scripts/print_style.py [--names] [ROOT]

A public function is a function or method whose name, class and module do not begin with an underscore; properties and
commands of the command line count, nested functions do not. A one-word name has no underscore. `--names` lists the
repeated names and the one-word functions. The exit code is 1 if a module name occurs more than once in
the tree, or a class name more than once in its package.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"engine": "daemon/tacitd", "handlers": "handlers/tacitd_handlers"}
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
        "mcp_tools",
        "__init__",
    }
)
"""Names of modules that every plugin's folder may have."""
REVIEWED = {
    ("engine", "one-word names"): "76 %",
    ("handlers", "one-word names"): "80 %",
    ("engine", "mean length of names"): "6.7",
    ("handlers", "mean length of names"): "6.7",
    ("both", "repeated module names"): "33",
    ("both", "repeated class names"): "33",
    ("both", "lines"): "35,196",
    ("both", "comment lines"): "0.4 %",
    ("engine", "modules at the root"): "46",
}
"""The figures of the review; of the rest it says nothing."""


@dataclass(frozen=True)
class Package:
    """The sources of one package."""

    name: str
    root: Path
    files: tuple[Path, ...]

    def list_functions(self) -> Iterator[str]:
        """Yield the name of each public function and method."""
        for path in self.files:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                yield from _public_functions(node)

    def list_classes(self) -> Iterator[str]:
        """Yield the name of each class, private ones included."""
        for path in self.files:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from (node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))

    def list_modules(self) -> Iterator[str]:
        """Yield the last part of each module's name, without the names that every plugin has."""
        yield from (path.stem for path in self.files if path.stem not in PLUGIN_NAMES)


def _public_functions(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
        yield node.name
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
        for child in node.body:
            yield from _public_functions(child)


def read_package(root: Path, name: str) -> Package:
    """Return the package `name` of the checkout `root`."""
    top = root / PACKAGES[name]
    return Package(name, top, tuple(sorted(top.rglob("*.py"))))


def find_repeated(names: Iterator[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def count_comments(files: tuple[Path, ...]) -> int:
    """Count the lines that hold nothing but a comment."""
    total = 0
    for path in files:
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
        total += sum(t.type == tokenize.COMMENT and not t.line[: t.start[1]].strip() for t in tokens)
    return total


def count_lines(files: tuple[Path, ...]) -> int:
    """Count the lines of all files."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files)


def measure_tree(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each figure: the package or "both", the figure's name, its value."""
    packages = [read_package(root, name) for name in PACKAGES]
    for package in packages:
        functions = list(package.list_functions())
        short = [name for name in functions if "_" not in name]
        yield package.name, "public functions", str(len(functions))
        yield package.name, "one-word names", f"{100 * len(short) / len(functions):.0f} %"
        yield package.name, "mean length of names", f"{sum(map(len, functions)) / len(functions):.1f}"
    yield "engine", "modules at the root", str(len(list(packages[0].root.glob("*.py"))))
    modules = (name for package in packages for name in package.list_modules())
    yield "both", "repeated module names", str(len(find_repeated(modules)))
    yield "both", "repeated class names", str(sum(len(find_repeated(p.list_classes())) for p in packages))
    files = packages[0].files + packages[1].files
    tests = tuple(sorted((root / "tests").rglob("*.py")))
    lines = count_lines(files)
    yield "both", "modules", str(len(files))
    yield "both", "lines", f"{lines:,}"
    yield "both", "comment lines", f"{100 * count_comments(files) / lines:.1f} %"
    yield "both", "test lines per source line", f"{count_lines(tests) / lines:.2f}"


def main(arguments: list[str]) -> int:
    """Print the table; return the exit code."""
    roots = [one for one in arguments if not one.startswith("-")]
    root = Path(roots[0]) if roots else Path(__file__).parents[1]
    sys.stdout.write(f"{'':9} {'figure':28} {'now':>8} {'review':>8}\n")
    for package, figure, value in measure_tree(root):
        sys.stdout.write(f"{package:9} {figure:28} {value:>8} {REVIEWED.get((package, figure), ''):>8}\n")
    packages = [read_package(root, name) for name in PACKAGES]
    modules = (name for package in packages for name in package.list_modules())
    repeated = [f"module {name}" for name in find_repeated(modules)]
    for package_ in packages:
        repeated += [f"{package_.name}: class {one}" for one in find_repeated(package_.list_classes())]
        if "--names" in arguments:
            short = sorted({one for one in package_.list_functions() if "_" not in one})
            sys.stdout.write(f"\n{package_.name}, one-word names: {', '.join(short)}\n")
    sys.stdout.writelines(f"{line}\n" for line in repeated)
    return 1 if repeated else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
