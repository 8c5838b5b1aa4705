"""What the client loads: by the settings that exclude files, and by directory."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacitd.session_context.context_request import ContextFile, ContextRequest, find_loaded_lines
from tacitd_handlers.reach.context_files import (
    ExcludePattern,
    find_exclude,
    list_context_files,
    read_patterns,
)

RULE = "/home/dev/app/.claude/rules/tacitd/pkg-cart.md"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("**/.claude/rules/**", True),
        ("**/tacitd/**", True),
        ("**/CLAUDE.md", False),
        ("/home/dev/**", True),
        ("/home/*/app/.claude/rules/**", True),
        ("/home/dev/app/**/.claude/rules/**", True),
        ("/home/dev/app/.claude/rules/**/pkg-cart.md", True),
        ("/home/dev/app/**/rules/**/tacitd/**/*.md", True),
        (f"{RULE}/**", True),
        ("/home/*", False),
        ("/home/*/rules/tacitd/*.md", False),
        ("/home/dev/app/*.md", False),
        ("**/pkg-car?.md", True),
        ("**/pkg-car[a-z].md", True),
        ("**/pkg-car[!a-z].md", False),
        ("pkg-cart.md", False),
        ("**", True),
    ],
)
def test_globs(pattern: str, matches: bool) -> None:
    """As Claude Code reads them: observed with `**/.claude/rules/**`, `**/tacitd/**` and `**/CLAUDE.md`."""
    assert (find_exclude(Path(RULE), [ExcludePattern(pattern, Path("x"))]) is not None) is matches


def test_every_settings_file_counts(tmp_path: Path) -> None:
    """The person's, the project's and the project's local one; damaged ones have no pattern and do not block."""
    home, project = tmp_path / ".claude", tmp_path / "app"
    (project / ".claude").mkdir(parents=True)
    home.mkdir()
    (home / "settings.json").write_text(
        json.dumps({"claudeMdExcludes": ["**/a.md", 7, "", "[!", "[z-a]", "\\\\"]})
    )
    (project / ".claude" / "settings.json").write_text('{"claudeMdExcludes": "**"')
    local = project / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"claudeMdExcludes": ["**/tacitd/**"]}))
    found = find_exclude(Path(RULE), read_patterns(home, [project]))
    assert found is not None
    assert (found.pattern, found.file) == ("**/tacitd/**", local)
    local.unlink()
    os.mkfifo(local)
    assert find_exclude(Path(RULE), read_patterns(home, [project])) is None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git work tree with a learned file and its mirror, and a person's rules file."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path.resolve() / "claude"))
    root = tmp_path.resolve() / "app"
    put(root / "LEARNED.md", "# L\n\n- Use pnpm\n")
    put(
        root / ".claude/rules/tacitd-learned.md",
        "<!-- Written by tacitd from LEARNED.md: x -->\n\n- Use pnpm\n",
    )
    put(root / "pkg/AGENTS.md", "# P\n\n- Of the module\n")
    put(
        root / ".claude/rules/tacitd/pkg.md",
        '---\npaths:\n  - "/pkg/**"\n---\n\n<!-- Written by tacitd from pkg/AGENTS.md: x -->\n\n- Of the module\n',
    )
    put(tmp_path.resolve() / "claude/rules/tacitd.md", "# You\n\n- Editor: vi\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def put(path: Path, text: str) -> None:
    """Write a file with its directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def ask(project: Path, **fields: str) -> dict[str, ContextFile]:
    """The files by name below the project or the home of the client."""
    found = list_context_files(replace(ContextRequest(project), **fields))
    return {str(one.path).split("/app/")[-1].split("/claude/")[-1]: one for one in found}


def loaded(found: dict[str, ContextFile]) -> frozenset[str]:
    """The list items that the client loads."""
    every = find_loaded_lines(found.values())
    return every & {"Use pnpm", "Of the module", "Editor: vi", "Mine", "Theirs", "Root", "Imported", "Far"}


def test_mirrors_and_the_persons_rules_are_loaded(project: Path) -> None:
    """The learned files themselves are not, which is no loss."""
    found = ask(project)
    assert loaded(found) == {"Use pnpm", "Of the module", "Editor: vi"}
    assert "LEARNED.md" not in found and found[".claude/rules/tacitd/pkg.md"].when == "read"


def test_a_person_s_own_files_count(project: Path) -> None:
    """CLAUDE.md above, in and below the directory, rules without paths, imports that need no permission."""
    put(project.parent / "CLAUDE.md", "- Theirs\n")
    put(project / "CLAUDE.md", "- Mine\n@notes/more.md and `@notes/no.md`\n@../outside.md\n")
    put(project / "notes/more.md", "- Imported\n")
    put(project / "notes/no.md", "- Root\n")
    put(project.parent / "outside.md", "- Far\n")
    put(project / "AGENTS.md", "- Root\n")
    assert loaded(ask(project)) == {"Use pnpm", "Of the module", "Editor: vi", "Theirs", "Mine", "Imported"}


def test_agents_md_counts_only_without_claude_md(project: Path) -> None:
    """As the newest client does it."""
    put(project / "AGENTS.md", "- Root\n")
    assert "Root" in loaded(ask(project))
    put(project / ".claude/CLAUDE.md", "- Mine\n")
    assert "Root" not in loaded(ask(project))


def test_what_a_person_excludes_stays_out(project: Path) -> None:
    """The lines are not loaded, and are not to come by another way either."""
    put(project / ".claude/settings.json", json.dumps({"claudeMdExcludes": ["**/tacitd-learned.md"]}))
    found = ask(project)
    assert "Use pnpm" not in loaded(found) and found["LEARNED.md"].meant


def test_a_claude_directory_outside_is_not_read(project: Path) -> None:
    """Clients up to 2.1.197 followed the link."""
    outside = project.parent / "dotfiles"
    (project / ".claude").rename(outside)
    (project / ".claude").symlink_to(outside)
    found = ask(project)
    assert "Use pnpm" not in loaded(found) and "LEARNED.md" not in found


def test_sub_agents_that_load_no_rules(project: Path) -> None:
    """Explore, from 2.1.197 on; a general one loads them."""
    assert loaded(ask(project, occasion="agent", agent="Explore")) == set()
    assert "Use pnpm" in loaded(ask(project, occasion="agent", agent="general-purpose"))


def test_a_directory_that_is_gone(tmp_path: Path, project: Path) -> None:
    """And one that is no project."""
    assert "Use pnpm" in loaded(ask(project / "gone" / "deep"))
    assert loaded(ask(tmp_path.resolve())) == {"Editor: vi"}
