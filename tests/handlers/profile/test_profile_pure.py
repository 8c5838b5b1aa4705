"""The rules of profile and continuity have no clock, disk or model."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "handlers" / "tacitd_handlers"
RULES = {
    "shared": ("decay",),
    "profile": (
        "fields",
        "dot_paths",
        "profile_finding",
        "profile_confidence",
        "render",
    ),
    "continuity": (
        "client_tasks",
        "session_fold",
        "session_document",
        "session_edits",
        "session_rows",
        "resume_text",
        "text_end",
    ),
}
ALLOWED = {
    "tacitd.clock",
    "tacitd.contract",
    "tacitd.errors",
    "tacitd.events",
    "tacitd.files.formats",
    "tacitd.text.converter",
    "tacitd.text.hashes",
    "tacitd.text.lazy_pattern",
    "tacitd.text.plurals",
    "tacitd.text.redact",
    "tacitd.text.sanitize",
    "tacitd.text.shorten",
    "tacitd.work.messages",
}
WORLD = {"time", "os", "pathlib", "subprocess", "threading", "shutil", "socket", "random"}
NAMES = [f"{folder}/{name}.py" for folder, names in RULES.items() for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_pure(name: str) -> None:
    """A rule imports formats, text functions and other rules, and nothing that reads the clock or the disk."""
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    origins = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {f"tacitd_handlers.{one.removesuffix('.py').replace('/', '.')}" for one in NAMES}
    packages = {f"tacitd_handlers.{folder}" for folder in RULES}
    found = {one for one in plain | origins if one.split(".")[0] in ("tacitd", "tacitd_handlers")}
    assert found - ALLOWED - ours - packages == set()
    assert {one.split(".")[0] for one in plain | origins} & WORLD == set()
