"""Import directions, and who names whom, read from the sources with `ast`. A test that fails lists the modules with what is wrong."""

from __future__ import annotations

import ast
import re

from support_sources import Module, engine, find_wrong, plugins

FOUNDATION = {"clock", "contract", "errors", "events", "files", "text"}
ABOVE = {
    "app": {"methods", "cli", "service"},
    "model_factory": {"app", "engine", "methods", "cli", "service"},
    "methods": {"cli", "service"},
    "cli": set(),
    "service": {"cli"},
    "testing": {"cli", "service"},
}
"""The parts that join others, and which of the parts above them each must not import."""
MAY = {
    "text": {"errors"},
    "files": FOUNDATION,
    "clock": FOUNDATION,
    "errors": FOUNDATION,
    "events": FOUNDATION,
    "config": {"errors"},
    "control": {"clock", "errors", "events"},
    "model": {"clock", "config", "contract", "errors", "events", "store", "text"},
    "sources": {"clock", "errors", "events", "files", "handler", "text"},
    "state": {"__version__", "clock", "contract", "errors", "events", "files", "text"},
    "store": {"clock", "contract", "errors", "files", "state"},
    "contract": set(),
    "work": {
        "clock",
        "config",
        "contract",
        "errors",
        "events",
        "files",
        "handler",
        "model",
        "plugin",
        "sources",
        "state",
        "store",
        "text",
    },
    "report": {"clock", "files", "model", "store", "text"},
}
"""The parts of the engine that each of these may import in addition to itself."""


def test_imports_run_from_the_plugins_to_the_engine() -> None:
    """DESIGN "The tree": tacitd_handlers -> tacitd, never the reverse."""
    assert find_wrong(engine(), lambda m: [n for n in m.imports if n.startswith("tacitd_handlers")]) == {}


def test_only_the_composition_root_joins_parts() -> None:
    """DESIGN "The tree": cli -> app -> everything else."""
    joiners = set(ABOVE)
    assert find_wrong(engine(), lambda m: m.parts & ABOVE.get(m.part, joiners) - {m.part}) == {}


def test_parts_import_only_what_they_may() -> None:
    """DESIGN "The tree": each part imports only the parts that `MAY` lists; the foundation imports only itself."""
    limited = [module for module in engine() if module.part in MAY]
    assert {module.part for module in limited} == set(MAY)
    assert find_wrong(limited, lambda m: m.parts - MAY[m.part] - {m.part}) == {}


STORE_FILES = {
    "tacitd.store",
    "tacitd.state.store_files",
    "tacitd.service.uninstall",
    "tacitd.sources.claude_code.hook_program",
}
"""The modules that name the store's file. Of these only `tacitd.store` opens it; the others rename, leave or remove it, or ask the system about it."""


def test_only_one_module_opens_the_store() -> None:
    """DESIGN "The store": another descriptor of the daemon, closed, drops SQLite's locks, so nothing but store.py opens the file."""
    every = [*engine(), *plugins()]
    assert [m.name for m in every if "sqlite3.connect" in m.calls] == ["tacitd.store"]
    assert {m.name for m in every if any("tacitd.sqlite" in text for text in m.strings)} <= STORE_FILES
    naming = {m.name for m in every if "tacitd.state.store_files.STORE" in m.imports}
    assert naming <= STORE_FILES
    openings = {"open", "os.open", "path.open", "path.read_bytes", "path.write_bytes", "shutil.copy"}
    beside = [m for m in every if m.name in STORE_FILES]
    # store_files creates the empty file before SQLite has it open, and writes a file beside it; the hook program reads where the
    # socket is.
    assert {m.name: m.calls & openings for m in beside if m.calls & openings} == {
        "tacitd.state.store_files": {"os.open"},
        "tacitd.sources.claude_code.hook_program": {"os.open"},
    }


def test_plugins_do_not_import_each_other() -> None:
    """DESIGN "Plugins": what several of them use is in `shared`. `reach` is how the lines of `learning` get to sessions: these two are
    one part."""
    together = {"learning", "reach"}
    folders = {module.name.split(".")[1] for module in plugins() if module.name.count(".") > 1} - {"shared"}

    def others(module: Module) -> set[str]:
        tops = {tuple(name.split(".")[:2]) for name in module.imports if name.startswith("tacitd_handlers.")}
        own = module.name.split(".")[1]
        return {top for _, top in tops if top in folders} - (together if own in together else {own})

    assert len(folders) > 5
    assert find_wrong([m for m in plugins() if m.name.count(".") > 1], others) == {}


NAMES_OF_SYSTEMS = re.compile(
    r"\A(?:learning|lessons|continuity|tutor|profile|learner)\b(?! )|LEARNED|AGENTS\.md|known-facts|synthes|extraction"
)


def test_the_engine_names_no_handler() -> None:
    """DESIGN "The tree": the engine's code contains no name of a plugin, of its files or of its stages.

    Docstrings may give examples, and a client's package knows the client's own files, of which AGENTS.md is one.
    """

    def named(module: Module) -> list[str]:
        names = [node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)]
        return [text for text in (*module.strings, *names) if NAMES_OF_SYSTEMS.search(text)]

    assert find_wrong([m for m in engine() if not m.name.startswith(SOURCE)], named) == {}


SOURCE = ("tacitd.sources.claude_code", "tacitd.sources.codex")
"""The packages of clients: their transcripts, and nothing outside of them knows their formats."""
NAMING_IT = {"tacitd.sources.registry"}
"""The modules that may import it: app.py and the command line get the source from there."""


def test_only_one_module_imports_a_clients_package() -> None:
    """DESIGN "Sources": Claude Code is the first source; engine, handlers and command line use the protocol."""

    def imported(module: Module) -> set[str]:
        return {name for name in module.imports if name.startswith(SOURCE)}

    others = [m for m in (*engine(), *plugins()) if not m.name.startswith(SOURCE)]
    assert {m.name for m in others if imported(m)} == NAMING_IT
