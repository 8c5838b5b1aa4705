"""Names of rule files, and the patterns by which the client loads them."""

from __future__ import annotations

import pytest

from tacitd_handlers.reach.client_rules import front_matter, name_module_rules, scope_pattern


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        ("pkg/cart", "/pkg/cart/**"),
        ("app/(auth)/a b", "/app/(auth)/a b/**"),
        ("app/[id]", "/app/\\\\[id\\\\]/**"),
        ("a{b,c}", "/a?b?c?/**"),
        ('say "x"', '/say \\"x\\"/**'),
        ("größe/ñ", "/größe/ñ/**"),
        ("#x/!y", "/#x/!y/**"),
        ("a*b\\c", "/a?b?c/**"),
    ],
)
def test_patterns_are_written_as_the_client_reads_them(folder: str, pattern: str) -> None:
    """Observed with three versions of the client: braces expand, a comma splits, brackets need two backslashes in YAML."""
    assert scope_pattern(folder) == pattern
    assert front_matter(folder) == ["---", "paths:", f'  - "{pattern}"', "---", ""]


def test_a_module_s_copy_has_the_folder_s_name() -> None:
    """A person who looks into the directory recognises the module."""
    assert name_module_rules(["pkg/cart", "src"]) == {
        "pkg/cart": ".claude/rules/tacitd/pkg-cart.md",
        "src": ".claude/rules/tacitd/src.md",
    }


def test_names_that_collide_get_digits() -> None:
    """`pkg-cart` and `pkg/cart` are two folders; a file system may ignore case; a leading dot would hide the file."""
    folders = ["pkg/cart", "pkg-cart", "Src", "src", ".github", "x" * 300, "one"]
    named = name_module_rules(folders)
    assert len({name.casefold() for name in named.values()}) == len(folders)
    assert named["one"] == ".claude/rules/tacitd/one.md"
    for folder in folders[:-1]:
        stem = named[folder].removeprefix(".claude/rules/tacitd/").removesuffix(".md")
        assert len(stem.rpartition("-")[2]) == 6 and not stem.startswith(".") and len(stem) < 130
    assert named == name_module_rules(reversed(folders))
