"""The text of api.md: what plugins may import from the engine, from the `__all__` of these modules."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from types import ModuleType

MODULES = (
    "tacitd.handler",
    "tacitd.plugin",
    "tacitd.contract",
    "tacitd.files.formats",
    "tacitd.work.messages",
    "tacitd.events",
    "tacitd.errors",
    "tacitd.clock",
    "tacitd.model.port",
    "tacitd.files",
    "tacitd.state.paths",
    "tacitd.config.types",
    "tacitd.cli.common",
    "tacitd.session_context.context_request",
    "tacitd.session_context.person_rules",
    "tacitd.report.sections",
    "tacitd.report.buckets",
    "tacitd.mcp.agent_tools",
    "tacitd.service.finding",
    "tacitd.text.sanitize",
    "tacitd.text.redact",
    "tacitd.testing",
)
"""The public modules, in the order of the page."""

INTRODUCTION = """# The public API

What a plugin may import from the engine: the names in `__all__` of these modules. Everything else is private and changes without
notice. [handlers.md](handlers.md) has a complete plugin that uses nothing else; a test compares its imports with this page.
tacitd's own plugins are released together with the engine. They also use some modules that are not listed here, and never its private
parts; `tests/test_api.py` lists both.
"""


def make_page() -> str:
    """The text below the note that the page is generated."""
    return "\n".join([INTRODUCTION, *map(_section, MODULES)])


def _section(name: str) -> str:
    module = import_module(name)
    rows = [f"| `{each}` | {_describe(module, each)} |" for each in module.__all__]
    about = _first_paragraph(module.__doc__).replace(' (DESIGN "Files")', "")
    return "\n".join([f"## {name}\n", f"{about}\n", "| name | what it is |", "|---|---|", *rows, ""])


def _describe(module: ModuleType, name: str) -> str:
    found = getattr(module, name)
    if inspect.isclass(found) or inspect.isroutine(found):
        return _first_paragraph(found.__doc__)
    return _describe_constant(module, name)


def _describe_constant(module: ModuleType, name: str) -> str:
    """The text below the assignment of a constant or a type, in the module that assigns it; without one, its value."""
    for one in (module.__name__, *(f"{module.__name__}.{part}" for part in _list_parts(module))):
        body = ast.parse(inspect.getsource(import_module(one))).body
        for statement, after in zip(body, [*body[1:], None], strict=True):
            value = _assigned_value(statement, name)
            if value is not None and isinstance(after, ast.Expr):
                return _first_paragraph(str(ast.literal_eval(after.value)))
            if value is not None:
                return _first_paragraph(f"`{ast.unparse(value)}`")
    raise ValueError(f"{module.__name__} does not assign {name}")


def _list_parts(module: ModuleType) -> list[str]:
    """The modules of a package from which it takes names."""
    body = ast.walk(ast.parse(inspect.getsource(module)))
    prefix = f"{module.__name__}."
    taken = [one.module for one in body if isinstance(one, ast.ImportFrom) and one.module]
    return sorted({name.removeprefix(prefix) for name in taken if name.startswith(prefix)})


def _assigned_value(statement: ast.stmt, name: str) -> ast.expr | None:
    """What this statement assigns to the name; None if it does not."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
            return value
        case ast.AnnAssign(target=ast.Name(id=found), value=value) if found == name:
            return value
        case _:
            return None


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split()).replace("|", "\\|")
