"""A `PluginSpec` as commands, session texts and the status see it.

A plugin's hook gets rows. Where none are at hand, the store is opened for reading while the hook runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tacitd.errors import UnavailableError
from tacitd.handler import Plugin, StoredItem, load_hook
from tacitd.plugin import PluginSpec

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.report.sections import ReportScope, ReportSection
    from tacitd.session_context.context_request import ContextRequest, FailedCall
    from tacitd.store import ReadOnlyStore

__all__ = ["open_rows"]

PARTS = ("context-files", "doctor", "person-rules", "banner", "history")
"""What a plugin adds to parts of the engine."""


def view_plugin(spec: PluginSpec) -> Plugin:
    """The plugin with hooks that need no rows."""

    def bind(hook: str, call: Callable[..., Any]) -> Callable[..., Any] | str:
        return partial(call, spec) if hook else ""

    return Plugin(
        spec.name,
        spec,
        settings=spec.settings,
        uses_model=bool(spec.gather),
        reads_records=bool(spec.observe or spec.gather),
        footprint=spec.footprint or None,
        order=spec.order,
        commands=spec.commands,
        context=bind(spec.session_text, _make_session_text),
        context_budget=spec.session_budget,
        failure_advice=bind(spec.session_text, _give_advice),
        explain=bind(spec.why, _explain),
        report=bind(spec.report, _report),
        items=bind(spec.items, _list_items),
        context_files=spec.prompt_parts.get("context-files", ""),
        findings=spec.prompt_parts.get("doctor", ""),
        person_rules=spec.prompt_parts.get("person-rules", ""),
        banner_lines=spec.prompt_parts.get("banner", ""),
        changes=spec.prompt_parts.get("history", ""),
        prompt_extensions={name: hook for name, hook in spec.prompt_parts.items() if name not in PARTS},
        mcp=spec.mcp,
    )


@contextmanager
def open_rows(spec: PluginSpec, state_dir: Path, shared: ReadOnlyStore | None = None) -> Iterator[Rows]:
    """The rows of the store, for a hook of this plugin. Without a store, or while it has no tables of the plugin yet, they are those of
    an empty one: what is in files is known all the same.
    `shared`: the store, opened by who asks several plugins; it stays open.

    Raises UnavailableError if the tables are of another version, and what `open_readonly` raises.
    """
    from tacitd.store import open_empty, open_readonly

    store = shared or open_readonly(state_dir)
    found = store.versions.get(spec.name, 0) if store is not None else 0
    if store is not None and found != len(spec.schema):
        if store is not shared:
            store.close()
        store = None
        if found:
            what = "a newer" if found > len(spec.schema) else "an earlier"
            raise UnavailableError(
                f"the tables of {spec.name} are from {what} version of it", "`tacitd restart`"
            )
    if store is not None and store is shared:
        yield store.rows
        return
    with store or open_empty({spec.name: spec.schema}) as opened:
        yield opened.rows


def _state_dir(environ: Mapping[str, str]) -> Path:
    from tacitd.state.paths import state_dir

    return state_dir(environ)


def _make_session_text(spec: PluginSpec, request: ContextRequest) -> str:
    make: Callable[[ContextRequest], str] = load_hook(spec.session_text)
    with open_rows(spec, _state_dir(os.environ), request.store) as rows:
        return make(replace(request, rows=rows))


def _give_advice(spec: PluginSpec, call: FailedCall) -> list[tuple[str, str]]:
    from hashlib import sha256

    from tacitd.session_context.context_request import ContextRequest

    request = ContextRequest(call.cwd, session=call.session, occasion="failure", failed=call)
    lines = [line for line in _make_session_text(spec, request).splitlines() if line.strip()]
    return [(sha256(line.encode("utf-8", "replace")).hexdigest()[:12], line) for line in lines]


def _explain(spec: PluginSpec, text: str, cwd: Path) -> list[Mapping[str, Any]]:
    from tacitd.files.git import find_project_root

    with open_rows(spec, _state_dir(os.environ)) as rows:
        return list(load_hook(spec.why)(rows, text, find_project_root(cwd)))


def _report(spec: PluginSpec, scope: ReportScope) -> list[ReportSection]:
    with open_rows(spec, scope.state_dir) as rows:
        return list(load_hook(spec.report)(rows, scope))


def _list_items(spec: PluginSpec, environ: Mapping[str, str], root: Path | None) -> list[StoredItem]:
    with open_rows(spec, _state_dir(environ)) as rows:
        return list(load_hook(spec.items).list_items(rows, environ, root))
