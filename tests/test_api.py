"""What plugins import from the engine: the public API, and for tacitd's own plugins some modules more.

The sources are parsed with `ast`. Whether docs/api.md is current is checked in test_docs.py.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from api_page import MODULES
from support_sources import ROOT, Module, find_wrong, plugins

SHARED_PARTS = {"files", "text"}
"""Parts of the engine that tacitd's own plugins may use as a whole. They import nothing of the engine but each other."""
SHARED = {
    "tacitd.cli.control_commands": "how commands print why something waits",
    "tacitd.cli.item_lookup": "items by their beginning, as in `tacitd forget`",
    "tacitd.cli.local_times": "how commands print times",
    "tacitd.cli.parked_lines": "how commands print what is parked",
    "tacitd.cli.program": "a group of commands with the form of tacitd's own",
    "tacitd.cli.progress_bar": "the progress of `tacitd scan`",
    "tacitd.config.durations": "durations in options",
    "tacitd.config.settings": "the configuration, for commands without a daemon",
    "tacitd.control.client": "a call of the daemon whose failure has a reason (tutor)",
    "tacitd.logging_setup": "the log, for commands that seldom write it",
    "tacitd.mcp.agent_caller": "whether an agent runs the command",
    "tacitd.model.answer_checks": "the sentinel of tacitd's own prompts",
    "tacitd.model.call_records": "the cost of a line in `tacitd why`",
    "tacitd.model_factory": "the model and its budget, for commands without a daemon",
    "tacitd.plugins": "the sections of the configuration, for commands without a daemon",
    "tacitd.session_context.plugin_view": "the store's rows, for commands without a daemon",
    "tacitd.sources.base": "the protocol of a source",
    "tacitd.sources.dedupe": "copies of prompts, in `tacitd scan --dry-run`",
    "tacitd.sources.projects": "the project of a directory",
    "tacitd.sources.registry": "the source: the client's context files and live sessions",
    "tacitd.sources.transcript": "the prompts of a transcript, in `tacitd scan --dry-run`",
    "tacitd.state.known_projects": "the projects of the last status",
    "tacitd.store": "the handled prompts, in `tacitd scan --dry-run`",
    "tacitd.work.commit_rows": "a plugin's own commits, for commands without a daemon",
    "tacitd.work.prompt_rows": "the id of a prompt, in `tacitd scan --dry-run`",
    "tacitd.work.waiting_lines": "how status, sync and scan print what waits",
    "tacitd.work.write_modes": "whether tacitd writes into a project",
}
"""Modules that only tacitd's own plugins may import, and for what. Each name of them may be imported that has no underscore."""
COMPOSING = {"tacitd_handlers.entry_point", "tacitd_handlers.learning.demo"}
"""The program, and the demonstration, which runs a daemon in its process. They join parts of the engine, as app.py does."""


def iter_imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield (module, name) for each name that is imported from the engine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "tacitd":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names if one.name.split(".")[0] == "tacitd")


def is_public(module: str, name: str) -> bool:
    """Whether the public API has this name."""
    return module in MODULES and name in import_module(module).__all__


def is_shared(module: str, name: str) -> bool:
    """Whether tacitd's own plugins may import this name."""
    part = module.split(".")[1:2]
    is_module = f"{module}.{name}" in MODULES
    return not name.startswith("_") and (bool(SHARED_PARTS & {*part}) or module in SHARED or is_module)


def list_private(tree: ast.AST) -> list[str]:
    """The names of the engine's private modules that a plugin of tacitd's imports."""
    found = [one for one in iter_imports(tree) if not is_public(*one) and not is_shared(*one)]
    return [f"{module}:{name}" for module, name in found]


def joining_no_parts() -> list[Module]:
    """The modules of tacitd's own plugins, without those that join parts of the engine."""
    return [module for module in plugins() if module.name not in COMPOSING]


def test_no_handler_imports_a_private_module() -> None:
    """DESIGN "The tree": the engine's modules are private but for the public API and the modules of `SHARED`."""
    assert find_wrong(joining_no_parts(), lambda module: list_private(module.tree)) == {}


@pytest.mark.parametrize(
    "line",
    [
        "from tacitd.engine import Engine",
        "from tacitd.work.task_rows import NewTask",
        "from tacitd.handler import _private",
        "from tacitd.state.layout import StateLayout",
        "import tacitd.app",
    ],
)
def test_a_private_import_is_found(line: str) -> None:
    """The check above can fail."""
    assert len(list_private(ast.parse(line))) == 1


def test_every_shared_module_is_used() -> None:
    """A module that no plugin imports any more is private again."""
    used = {module for one in joining_no_parts() for module, _ in iter_imports(one.tree)}
    assert SHARED.keys() - used == set() and SHARED.keys() & {*MODULES} == set()


@pytest.mark.parametrize("name", MODULES)
def test_the_names_of_the_api_exist_and_are_described(name: str) -> None:
    """STYLE "httpx": exports are tested. Each class and function has a docstring."""
    module = import_module(name)
    for each in module.__all__:
        found = getattr(module, each)
        assert found.__doc__ or not (inspect.isclass(found) or inspect.isfunction(found)), each


def test_the_plugin_of_the_guide_uses_only_the_api() -> None:
    """DESIGN "Plugins": a package of another author needs nothing else; nor does an example of the guide."""
    guide = (ROOT / "docs" / "handlers.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    imports = [one for block in blocks for one in iter_imports(ast.parse(block))]
    assert len(imports) > 8
    assert [one for one in imports if not is_public(*one)] == []
