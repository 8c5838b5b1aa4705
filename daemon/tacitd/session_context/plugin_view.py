"""Hooks of plugins that get rows, called where none are at hand: the store is opened for reading while the hook runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tacitd.errors import UnavailableError
from tacitd.handler import StoredItem, load_hook
from tacitd.plugin import PluginSpec

__all__ = ["explain_text", "give_advice", "list_items", "make_report", "make_section", "open_rows"]

if TYPE_CHECKING:
    from tacitd.contract import Rows
    from tacitd.report.sections import ReportScope, ReportSection
    from tacitd.session_context.context_request import ContextRequest, FailedCall
    from tacitd.store import ReadOnlyStore


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


def make_section(spec: PluginSpec, request: ContextRequest) -> str:
    """The plugin's text for a session, or about a failed call; "" without a hook."""
    if not spec.session_text:
        return ""
    make: Callable[[ContextRequest], str] = load_hook(spec.session_text)
    with open_rows(spec, _state_dir(os.environ), request.store) as rows:
        return make(replace(request, rows=rows))


def give_advice(spec: PluginSpec, call: FailedCall) -> list[tuple[str, str]]:
    """What the plugin knows about a failed call of a tool: keys and lines, the best first."""
    from tacitd.session_context.context_request import ContextRequest
    from tacitd.text.hashes import sha256

    request = ContextRequest(call.cwd, session=call.session, occasion="failure", failed=call)
    lines = [line for line in make_section(spec, request).splitlines() if line.strip()]
    return [(sha256(line.encode("utf-8", "replace")).hexdigest()[:12], line) for line in lines]


def explain_text(spec: PluginSpec, text: str, cwd: Path) -> list[Mapping[str, Any]]:
    """The plugin's matches for `tacitd why`; [] without a hook."""
    from tacitd.files.git import find_project_root

    if not spec.why:
        return []
    with open_rows(spec, _state_dir(os.environ)) as rows:
        return list(load_hook(spec.why)(rows, text, find_project_root(cwd)))


def make_report(spec: PluginSpec, scope: ReportScope) -> list[ReportSection]:
    """The plugin's sections of `tacitd report`."""
    with open_rows(spec, scope.state_dir) as rows:
        return list(load_hook(spec.report)(rows, scope))


def list_items(spec: PluginSpec, environ: Mapping[str, str], root: Path | None) -> list[StoredItem]:
    """What a person can decide about, in a project and of the person, or everywhere (None); [] without a hook. Raises OSError,
    TacitdError."""
    if not spec.items:
        return []
    with open_rows(spec, _state_dir(environ)) as rows:
        return list(load_hook(spec.items).list_items(rows, environ, root))
