"""Every rule of SPEC L has a test with its id in the name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
RULES = [f"L-{number:02d}" for number in range(1, 56)]


def named() -> dict[str, set[str]]:
    """By rule, `module::test` of the tests whose name contains it."""
    found: dict[str, set[str]] = {}
    for path in sorted(HERE.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in re.findall(r"L_(\d\d)", node.name):
                    assert f"L-{number}" in (ast.get_docstring(node) or ""), (
                        f"{node.name}: its docstring names L-{number}"
                    )
                    found.setdefault(f"L-{number}", set()).add(f"{path.stem}::{node.name}")
    return found


def test_every_rule_has_a_test() -> None:
    """SPEC L: 55 rules; `pytest -k L_` lists their tests."""
    assert not set(RULES) ^ set(named())
