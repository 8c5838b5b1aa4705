"""Every rule of SPEC L is named in the docstring of a test or a story."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
STORIES = HERE.parents[1] / "stories" / "test_stories_learner.py"


def test_every_rule_has_a_test() -> None:
    """SPEC L: 55 rules."""
    trees = [ast.parse(path.read_text("utf-8")) for path in (*HERE.glob("test_*.py"), STORIES)]
    tests = [one for tree in trees for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    named = " ".join(ast.get_docstring(one) or "" for one in tests if one.name.startswith("test_"))
    numbers = {int(number) for number in re.findall(r"L-(\d\d)", named)}
    assert numbers == {*range(1, 56)}
