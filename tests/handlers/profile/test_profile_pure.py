"""Which modules of profile and continuity are rules: no clock, no disk, no model in them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "handlers" / "tacitd_handlers"
RULES = {
    "rules": ("decay",),
    "profile": ("fields", "paths", "ops", "merge", "meta", "beside", "plans", "said", "look"),
    "continuity": ("tasks", "progress", "render", "answer", "resuming", "changes", "names", "words"),
}
ALLOWED = {
    "tacitd.clock",
    "tacitd.errors",
    "tacitd.events",
    "tacitd.text.redact",
    "tacitd.text.sanitize",
    "tacitd.text.shorten",
}
WORLD = {"time", "os", "pathlib", "subprocess", "threading", "shutil", "socket", "random"}
NAMES = [f"{folder}/{name}.py" for folder, names in RULES.items() for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_is_pure(name: str) -> None:
    """STYLE habit 2: it uses words, formats and other rules of the house, and nothing of the world."""
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    origins = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    ours = {f"tacitd_handlers.{one.removesuffix('.py').replace('/', '.')}" for one in NAMES}
    packages = {f"tacitd_handlers.{folder}" for folder in RULES}
    found = {one for one in plain | origins if one.split(".")[0] in ("tacitd", "tacitd_handlers")}
    assert found - ALLOWED - ours - packages == set()
    assert {one.split(".")[0] for one in plain | origins} & WORLD == set()
