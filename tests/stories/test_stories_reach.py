"""How learned text reaches a session: rules files, `context`, hooks (SPEC S-34, S-37; REACH)."""

from __future__ import annotations

from support_world import Begin, Fact, Facts, Profile
from tacitd.testing import World

SHORT = "Keep answers short"
FACTS: Facts = {"pnpm": "Use pnpm, not npm", "answers short": Fact(SHORT, section="Communication")}
PERSON: Profile = {
    "write Go": {"work": {"languages": ["Go"]}},
    "edit in neovim": {"tools": {"editor": "neovim"}},
}
RULES = "~/.claude/rules/tacitd.md"
LESSON = "WHEN committing -> DO ask first -> BECAUSE user said so"


def add_lesson(world: World) -> None:
    """A firm lesson for every project."""
    assert world.run_program("lesson", "add", "--firm", LESSON).code == 0


def test_every_session_loads_what_is_known_of_the_person(begin: Begin) -> None:
    """DESIGN "Where it writes": profile and global lessons stand in the person's rules file, in at most 2 KB."""
    with begin(profile=PERSON) as world:
        world.type("s1", "I write Go, and I edit in neovim").leave("s1")
        add_lesson(world)
        world.wait(120)
        text = world.read(RULES)
        assert "Go" in text and "neovim" in text and LESSON in text and len(text.encode()) <= 2048
        assert world.path(RULES).stat().st_mode & 0o777 == 0o600


def test_a_line_deleted_there_is_withdrawn(begin: Begin) -> None:
    """X-07, REACH: a line that the person deletes in the rules file goes from the profile too."""
    with begin(profile=PERSON) as world:
        world.type("s1", "I write Go, and I edit in neovim").leave("s1")
        world.edit(RULES, remove="neovim").wait(120)
        assert "neovim" not in world.read("~/.claude/user-memory/profile.json")
        assert "Go" in world.read(RULES) and "neovim" not in world.read(RULES)


def test_a_lesson_deleted_there_is_wrong(begin: Begin) -> None:
    """X-07, E-15: a lesson whose line the person deletes in the rules file is not loaded any more."""
    with begin() as world:
        add_lesson(world)
        world.wait(120).edit(RULES, remove="ask first").wait(120)
        assert LESSON not in world.run_program("lesson", "load").out


def test_lines_of_the_person_stay_there(begin: Begin) -> None:
    """X-07: what the person adds to the rules file stays when tacitd's lines change, which they do once a day."""
    with begin(profile=PERSON) as world:
        world.type("s1", "I write Go all day").leave("s1")
        world.edit(RULES, add="- My own rule")
        world.type("s2", "I edit in neovim").leave("s2").wait_days(1)
        assert "- My own rule\n" in world.read(RULES) and "neovim" in world.read(RULES)


def test_a_file_that_tacitd_did_not_make_is_left_alone(begin: Begin) -> None:
    """DESIGN "Files that people edit too": a person's own file of that name keeps its bytes, and `status` names it."""
    with begin(profile=PERSON) as world:
        world.write(RULES, "# Mine\n")
        world.type("s1", "I write Go all day").leave("s1")
        assert world.read(RULES) == "# Mine\n" and "rules/tacitd.md" in world.run("status").out


def test_the_copy_follows_its_source(begin: Begin) -> None:
    """S-34, REACH: the copy of LEARNED.md has its lines, follows an edit, and is hidden from git."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        copy = ".claude/rules/tacitd-learned.md"
        assert world.bullets(copy) == world.bullets("LEARNED.md")
        world.edit("LEARNED.md", replace=(SHORT, "Keep answers very short"))
        assert "Keep answers very short" in world.bullets(copy) and world.git("status", "--porcelain") == ""


def test_a_line_added_to_the_copy_goes_to_the_source(begin: Begin) -> None:
    """REACH: a line that the person adds to the copy is added to LEARNED.md."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        copy = ".claude/rules/tacitd-learned.md"
        world.edit(copy, replace=("- Use pnpm, not npm\n", "- Use pnpm, not npm\n- Mine\n")).wait(120)
        assert "Mine" in world.bullets("LEARNED.md") and "Mine" in world.bullets(copy)


def test_exclude_removes_the_copies(begin: Begin) -> None:
    """REACH: `exclude` removes the copies, and keeps LEARNED.md."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.run("exclude", ".")
        world.wait(120)
        assert world.read(".claude/rules/tacitd-learned.md") == "" and world.bullets("LEARNED.md") == [
            "Use pnpm, not npm"
        ]


def test_a_session_is_told_once(begin: Begin) -> None:
    """DESIGN "Plugins", S-37: the start of a session gets the section of each plugin; a resumed one does not get it again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").say("s1", "I will.").leave("s1")
        told = world.hook("SessionStart", "s2", source="startup")
        assert "use pnpm, not npm" in told and len(told) < 10_000
        assert world.hook("SessionStart", "s2", source="resume") == ""


def test_context_is_the_same_without_a_daemon(begin: Begin) -> None:
    """DESIGN "Commands": `context` and `reach` say the same with and without a daemon."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").say("s1", "I will.").leave("s1")
        before = [world.run("context"), world.run("reach", "--json")]
        world.stop()
        assert [world.run("context"), world.run("reach", "--json")] == before
        assert before[0].code == before[1].code == 0 and "tacitd-learned.md" in before[1].out


def test_an_ended_session_does_not_wait(begin: Begin) -> None:
    """S-20, P-10: with the hook of a session's end the lines are written at once."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm")
        world.hook("SessionEnd", "s1", reason="prompt_input_exit")
        world.wait(30)
        assert world.bullets("LEARNED.md") == ["Use pnpm, not npm"]


def test_a_fork_is_told_what_changed(begin: Begin) -> None:
    """DESIGN "Plugins": a forked session gets what is new since its origin, also if another session got it already."""
    with begin(settings={"REACH__USER_RULES": "false"}) as world:
        world.run("profile", "set", "work.languages", "Go")
        assert "Go" in world.hook("SessionStart", "s1", source="startup")
        world.type("s1", "have a look").say("s1", "I did.")
        world.run("profile", "set", "tools.editor", "helix")
        assert "helix" in world.hook("SessionStart", "s2", source="startup")
        world.fork("s1", "s3")
        assert "helix" in world.hook("SessionStart", "s3", source="fork")


def test_the_rules_file_leaves_with_tacitd(begin: Begin) -> None:
    """RELIABILITY 20: `uninstall` removes it, and one with a line of the person's is kept and named."""
    with begin(profile=PERSON) as world:
        world.type("s1", "I write Go, and I edit in neovim").leave("s1").wait(120).stop()
        rules = world.path(RULES)
        whole = rules.read_text("utf-8")
        rules.write_text(f"{whole}- mine\n", "utf-8")
        assert f"kept {rules}" in world.run("uninstall").err and rules.exists()
        rules.write_text(whole, "utf-8")
        assert world.run("uninstall", "--purge", "--yes").code == 0 and not rules.exists()


def test_the_rules_file_follows_the_persons_own_line_in_seconds(begin: Begin) -> None:
    """DESIGN "Files that people edit too": what a person writes for all projects is in what sessions load before they start the next one."""
    with begin() as world:
        own = world.path("~/.agents/LEARNED.md")
        own.parent.mkdir(parents=True)
        own.write_text(f"# Learned\n\n- {SHORT}\n", "utf-8")
        world.wait(120)
        assert SHORT in world.read(RULES)
        own.write_text(f"# Learned\n\n- {SHORT}\n- Never use emoji\n", "utf-8")
        world.wait(6)
        assert "Never use emoji" in world.read(RULES)
