"""What a person decides about what was learned: forget, accept, review, undo, why, history (SPEC S-26, S-28, S-54; DESIGN "Commands")."""

from __future__ import annotations

import json

import pytest

from support_world import SYNTHESIS, Begin, Fact, Facts
from tacitd.testing import World

PNPM, SHORT, GO = "Use pnpm, not npm", "Keep answers short", "Use tabs in Go files"
FACTS: Facts = {"pnpm": PNPM, "answers short": Fact(SHORT, section="Communication"), "tabs in Go": GO}


def find_id(world: World, text: str, *options: str) -> str:
    """The id of a line in `learned`."""
    rows = world.run("learned", "--json", *options).json
    (row,) = [one for one in rows if text in (one.get("line") or one["text"])]
    return str(row["id"])


def test_forget_removes_the_line_and_its_copy(begin: Begin) -> None:
    """S-28: a forgotten line goes from LEARNED.md and from what sessions load, and is not learned again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert world.run("forget", find_id(world, PNPM)).code == 0
        world.wait(60)
        assert world.bullets("LEARNED.md") == [SHORT] and "## Coding" not in world.read("LEARNED.md")
        assert world.bullets(".claude/rules/tacitd-learned.md") == [SHORT]
        world.type("s2", "use pnpm, not npm").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]
        assert PNPM in world.run("learned", "--forgotten").out


def test_forget_by_a_part_of_the_text(begin: Begin) -> None:
    """DESIGN "Commands": a part of the text is enough; text that fits nothing ends with 2."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert world.run("forget", "pnpm").code == 0
        assert world.bullets("LEARNED.md") == [SHORT]
        assert world.run("forget", "emacs").code == 1


def test_forget_can_be_undone(begin: Begin) -> None:
    """S-28: `forget --undo` puts the line back, and it counts as learned again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        id = find_id(world, PNPM)
        world.run("forget", id)
        assert world.run("forget", "--undo", id).code == 0
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        assert find_id(world, PNPM)


def test_forget_without_a_daemon(begin: Begin) -> None:
    """DESIGN "Commands": `forget` does the same when no daemon runs."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1").stop()
        assert world.run("forget", "pnpm").code == 0
        assert world.bullets("LEARNED.md") == [SHORT]
        world.start().type("s2", "use pnpm, not npm").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]


def test_purged_words_are_nowhere(begin: Begin) -> None:
    """DESIGN "The store": after `forget --purge` the words are in no file of the home or the state directory."""
    with begin({"opal": "Prefers opal lamps", "answers short": SHORT}) as world:
        world.type("s1", "prefers opal lamps", "keep answers short").leave("s1")
        assert world.run("forget", "opal", "--purge", "--yes").code == 0
        world.wait(60).stop()
        left = [
            path for path in world.state.rglob("*") if path.is_file() and b"opal lamps" in path.read_bytes()
        ]
        assert left == [] and not any("opal" in text for text in world.list_files().values())


def test_forget_of_the_persons_own_line_asks(begin: Begin) -> None:
    """S-28: before a line of the person's own is removed it asks; without an answer nothing changes."""
    with begin(FACTS) as world:
        world.write("LEARNED.md", "# Learned Preferences\n\n## Coding\n- A line of mine\n")
        assert world.run("forget", "line of mine").code != 0
        assert world.bullets("LEARNED.md") == ["A line of mine"]


def test_undo_takes_a_change_back(begin: Begin) -> None:
    """DESIGN "Files that people edit too": `undo` of the change takes its lines out, and history names both."""
    with begin(FACTS) as world:
        world.type("s1", "keep answers short").leave("s1")
        world.type("s2", "use pnpm, not npm").leave("s2")
        changes = [one for one in world.run("history", "--json").json if "LEARNED.md" in json.dumps(one)]
        assert world.run("undo", changes[0]["id"]).code == 0
        assert world.bullets("LEARNED.md") == [SHORT]


def test_an_undone_undo_leaves_a_line_tacitds(begin: Begin) -> None:
    """S-28: a line that `undo` took and brought back is tacitd's as before, so `forget` does not ask; typed again by hand, it is the
    person's."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        (change,) = world.run("history", "--json").json
        assert world.run("undo", change["id"]).code == 0
        undone = world.run("history", "--json").json[0]
        assert world.run("undo", undone["id"]).code == 0
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        world.edit("LEARNED.md", remove=SHORT).wait(60)
        world.edit("LEARNED.md", add=f"- {SHORT}").wait(60)
        assert world.run("forget", "answers short").code != 0
        assert world.run("forget", "pnpm").code == 0
        assert world.bullets("LEARNED.md") == [SHORT]


@pytest.mark.parametrize("taking", ["undo", "forget"])
def test_learned_says_that_all_was_removed(begin: Begin, taking: str) -> None:
    """S-28: after the only line was undone or forgotten, `learned` does not say that nothing was learned."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        change = world.run("history", "--json").json[0]["id"]
        assert world.run(taking, change if taking == "undo" else "pnpm").code == 0
        said = world.run("learned").err
        assert "nothing is in this project's files now; `tacitd history` shows what was" in said
        assert "nothing was learned" not in said


def test_history_and_show_tell_what_was_changed(begin: Begin) -> None:
    """DESIGN "Commands": history names file and line, `show` also the fact behind it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert PNPM in world.run("history").out
        change = next(one for one in world.run("history", "--json").json if PNPM in json.dumps(one))
        assert PNPM in world.run("show", change["id"]).out


def test_why_names_the_words(begin: Begin) -> None:
    """Priority 3: `why` tells from which words and which session a line came."""
    with begin(FACTS) as world:
        world.type("s1", "please use pnpm, not npm, in this repository").leave("s1")
        told = world.run("why", "pnpm")
        assert told.code == 0 and "please use pnpm, not npm, in this repository" in told.out


def test_why_of_something_unknown(begin: Begin) -> None:
    """Priority 3: of what tacitd did not write, `why` says so and ends with 1."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.run("why", "emacs").code == 1


def test_a_withheld_line_can_be_accepted(begin: Begin) -> None:
    """S-28, `review`: a deleted line that was said again waits in `review`, and `accept` writes it after all."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.edit("LEARNED.md", remove=PNPM)
        world.type("s2", "use pnpm, not npm").leave("s2")
        (item,) = [one for one in world.run("review", "--json").json if PNPM in one["text"]]
        assert world.run("accept", item["id"]).code == 0
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        assert [one for one in world.run("review", "--json").json if PNPM in one["text"]] == []


def test_a_refused_line_can_be_accepted_with_other_words(begin: Begin) -> None:
    """S-67: what waits because its words say less can be accepted by hand, with other words."""
    with begin({"other way round": PNPM}) as world:
        world.type("s1", "no, the other way round").leave("s1")
        (item,) = world.run("review", "--json").json
        assert item["text"] == PNPM
        assert world.run("accept", item["id"], "--text", "Use pnpm here").code == 0
        assert world.bullets("LEARNED.md") == ["Use pnpm here"]


def test_learned_filters_by_words_and_projects(begin: Begin) -> None:
    """DESIGN "Commands": `learned WORD` lists what contains it, `--all` lists all projects; nothing found ends with 1."""
    with begin(FACTS) as world:
        other = world.new_project("other")
        world.type("s1", "use pnpm, not npm", "keep answers short").type(
            "s2", "use tabs in Go files", cwd=other
        )
        world.leave("s1")
        assert [one["line"] for one in world.run("learned", "pnpm", "--json").json] == [PNPM]
        assert {one["line"] for one in world.run("learned", "--all", "--json").json} == {PNPM, SHORT, GO}
        assert world.run("learned", "emacs").code == 1


def test_a_line_that_was_not_said_for_long_is_offered(begin: Begin) -> None:
    """S-54: a line said once and not for more than 100 days is stale: `review` offers it, and nothing removes it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1").wait_days(102, step=24 * 3600)
        assert world.bullets("LEARNED.md") == [PNPM]
        assert any(PNPM in one["text"] for one in world.run("review", "--json").json)


def test_a_line_of_three_projects_is_offered_for_all(begin: Begin) -> None:
    """S-55: what was learned in three projects is offered as a rule for all of them."""
    with begin(FACTS) as world:
        for name in ("one", "two", "three"):
            world.type(name, "keep answers short", cwd=world.new_project(name)).leave(name)
        offered = world.run("review", "--all", "--json").json
        assert any(SHORT in one["text"] for one in offered)


def test_why_of_a_short_word(begin: Begin) -> None:
    """Priority 3: `why` finds a word of two letters."""
    with begin(FACTS) as world:
        world.type("s1", "use tabs in Go files").leave("s1")
        told = world.run("why", "Go")
        assert told.code == 0 and GO in told.out


def test_what_is_said_often_is_not_stale_sooner(begin: Begin) -> None:
    """S-54: stale is what was not said for 100 days times the number of times: said three times, not after 80 days."""
    with begin(FACTS) as world:
        for session in ("s1", "s2", "s3"):
            world.type(session, "use pnpm, not npm").leave(session).wait_days(80, step=48 * 3600)
        (line,) = world.run("learned", "--json").json
        assert (line["seenCount"], line["stale"]) == (3, False)


def test_undo_does_what_it_can_and_names_the_rest(begin: Begin) -> None:
    """S-33: of a change with two lines, the one that the person reworded stays; an id can be shortened from either side."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        (change,) = world.run("history", "--json").json
        world.edit("LEARNED.md", replace=(SHORT, "Answer in two sentences")).wait(60)
        done = world.run("undo", change["id"][-6:])
        assert (
            done.code == 0
            and f"not undone, because somebody removed or changed it since: {SHORT}" in done.err
        )
        assert world.bullets("LEARNED.md") == ["Answer in two sentences"]


def test_learned_says_when_the_first_line_comes(begin: Begin) -> None:
    """Priority 3: before the first line, `learned` says when it will come, and which command makes it now."""
    with begin(FACTS) as world:
        before = world.run("learned")
        assert (
            before.code == 0 and "nothing was learned here yet; lines come when a session ends" in before.err
        )
        world.type("s1", "use pnpm, not npm").wait(900)
        waits = world.run("learned")
        assert "1 fact waits, written " in waits.err and "`tacitd sync --write` does it now" in waits.err
        world.leave("s1")
        assert "nothing was learned" not in world.run("learned").err and PNPM in world.run("learned").out


def test_why_finds_a_line_that_was_removed(begin: Begin) -> None:
    """Priority 3: with the words, what became of it, and the changes of it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        id = find_id(world, PNPM)
        world.edit("LEARNED.md", replace=(f"- {PNPM}\n", "")).wait(60).wait(60)
        (found,) = world.run("why", "pnpm", "--json").json
        assert found["where"].endswith("you removed it") and found["words"] == ["use pnpm, not npm"]
        (change,) = world.run("history", "--json").json
        assert found["id"] == id and found["changes"] == [change["id"]]


def test_sync_names_a_line_that_was_withheld(begin: Begin) -> None:
    """S-28: what a person removed and says again is named with its text where the work is reported."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.edit("LEARNED.md", replace=(f"- {PNPM}\n", "")).wait(60).wait(60)
        world.type("s2", "use pnpm, not npm")
        said = world.run("sync", "--write")
        assert f"you removed it before, and said it again (`tacitd review` asks about it): {PNPM}" in said.err
        assert PNPM in world.run("log").out


def test_a_rule_that_is_broken_again_says_so(begin: Begin) -> None:
    """Corrected twice although it is written: `learned`, `why`, `review` and `status` say when."""
    facts: Facts = {"pnpm": Fact(PNPM, corrected=True)}
    with begin(facts) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        for session in ("s2", "s3"):
            assert world.run("review", "--json").json == []
            world.wait(3600).type(session, "no, use pnpm, not npm").leave(session)
        (item,) = world.run("review", "--json").json
        assert "corrected 2 times since it was written (" in item["review"]
        for command in ("learned", "why"):
            asked = ("why", "pnpm") if command == "why" else ("learned",)
            assert "corrected 2 times since it was written (" in world.run(*asked).out
        assert "corrected at least twice" in world.run("status").out


def test_the_second_correction_rewords_a_line_once(begin: Begin) -> None:
    """S-36: `why` has the words of both corrections, a later one rewords nothing, and `undo` brings the old wording back."""
    old, rule = "Use pnpm, never npm", "Always use pnpm for installs, never npm"
    said = {word: f"pnpm {word}: never npm for installs" for word in ("again", "afterwards")}
    answers = [
        (
            f"opinion mining.*pnpm {word}",
            json.dumps({"message": 1, "words": words, "corrected": True, "known": 1}),
        )
        for word, words in said.items()
    ]
    line = {"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": rule, "FROM": [1], "REPLACES": ["L1"]}
    answers.append((f"{SYNTHESIS}.*an L line, said again", json.dumps(line)))
    with begin({"no, use pnpm": Fact(old, corrected=True)}, answers=answers) as world:
        world.type("s1", "no, use pnpm, never npm").leave("s1").type("s2", said["again"]).leave("s2")
        (row,) = world.run("learned", "--json").json
        assert (row["line"], row["seenCount"], row["corrections"]) == (rule, 2, 2)
        why = world.run("why", "pnpm").out
        assert "no, use pnpm, never npm" in why and said["again"] in why
        before = len(world.prompts)
        world.type("s3", said["afterwards"]).leave("s3")
        assert world.bullets("LEARNED.md") == [rule] and len(world.prompts) == before + 1
        (change,) = [one for one in world.run("history", "--json").json if one["lines"][0]["removed"] == old]
        assert world.run("undo", change["id"]).code == 0
        assert world.bullets("LEARNED.md") == [old]


def test_share_can_be_taken_back(begin: Begin) -> None:
    """S-34: `share --undo` hides again what git does not track."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        never = world.run("share", "--undo")
        assert never.code == 0 and "is not shared" in never.err
        shut = world.run("exclude", str(world.project)).err
        again = f"`tacitd exclude --undo {world.project}`"
        assert "never sent to the model" in shut and f"{again} takes it back" in shut
        refused = world.run("share")
        assert refused.code == 2 and again in refused.err
        opened = world.run("exclude", "--undo", str(world.project))
        assert opened.code == 0 and "never sent" not in opened.err
        exclude = world.project / ".git/info/exclude"
        assert "/LEARNED.md" in exclude.read_text()
        assert world.run("share").code == 0 and "/LEARNED.md" not in exclude.read_text()
        undone = world.run("share", "--undo")
        assert undone.code == 0 and "is not shared" in undone.err
        assert "/LEARNED.md" in exclude.read_text()
        world.type("s2", "keep answers short").leave("s2")
        assert world.bullets("LEARNED.md") == [PNPM, SHORT], "an earlier exclusion does not come back"


def test_share_says_what_it_means_in_a_directory_without_git(begin: Begin) -> None:
    """S-34: nothing is hidden there, and git shows nothing."""
    with begin(FACTS) as world:
        plain = world.path("~/plain")
        plain.mkdir()
        world.type("s1", "use pnpm, not npm", cwd=plain).leave("s1")
        for undo in ((), ("--undo",)):
            said = world.run("share", *undo, str(plain))
            assert said.code == 0 and "it is not in git" in said.err
            assert "git shows" not in said.err and "hidden from git" not in said.err


def test_learned_counts_the_persons_own_lines(begin: Begin) -> None:
    """A LEARNED.md that a new installation finds is the person's, or came with a clone: `learned` does not say that there is nothing,
    nor who wrote it."""
    with begin() as world:
        (world.project / "LEARNED.md").write_text("# Learned\n\n- Use pnpm\n- Use tabs\n")
        told = world.run("learned")
        assert told.out == "" and "LEARNED.md has 2 lines that tacitd did not write" in told.err


@pytest.mark.parametrize("running", [True, False])
def test_sessions_load_nothing_of_an_undone_change(begin: Begin, running: bool) -> None:
    """S-28, X-07: `undo` of a whole change is a removal by the person: the copies follow before the command ends, with and without a
    daemon, and nothing of it is learned again. Undone itself, all of it is there again."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short", "use tabs in Go files").leave("s1")
        (change,) = world.run("history", "--json").json
        if not running:
            world.stop()
        rule = ".claude/rules/tacitd-learned.md"
        assert world.run("undo", change["id"]).code == 0
        assert world.bullets("LEARNED.md") == world.bullets(rule) == []
        assert "you removed it" in world.run("why", "pnpm").out
        undone = world.run("history", "--json").json[0]
        assert world.run("undo", undone["id"]).code == 0
        assert sorted(world.bullets(rule)) == sorted(world.bullets("LEARNED.md")) == sorted([PNPM, SHORT, GO])
        world.run("undo", world.run("history", "--json").json[0]["id"])
        world.start() if not running else world.wait()
        world.type("s2", "use pnpm, not npm").leave("s2")
        assert world.bullets(rule) == world.bullets("LEARNED.md") == []


@pytest.mark.parametrize("running", [True, False])
def test_undo_does_not_wait_for_a_pause(begin: Begin, running: bool) -> None:
    """S-28, X-07: with everything paused, the lines go at once, and what follows from their removal is done after `resume`."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.type("s2", "use tabs in Go files").leave("s2")
        second, first = [one["id"] for one in world.run("history", "--json").json]
        assert world.run("pause").code == 0
        if not running:
            world.stop()
        assert world.run("undo", first).code == 0
        assert world.bullets("LEARNED.md") == [GO]
        if running:  # without a daemon it would wait for two seconds, which do not pass
            assert world.run("undo", second).code == 0
        left = [] if running else [GO]
        assert world.run("resume").code == 0
        world.wait() if running else world.start().wait()
        assert world.bullets(".claude/rules/tacitd-learned.md") == world.bullets("LEARNED.md") == left
        assert all("you removed it" in world.run("why", one).out for one in ("pnpm", "answers"))


def test_the_report_lists_what_is_in_the_files_now(begin: Begin) -> None:
    """Issue 39, point 14: also after an undo that was undone, a line that was accepted, and one that was removed by hand."""

    def list_lines() -> list[str]:
        sections = world.run("report", "--json").json["sections"]
        tables = [part for one in sections for part in one["parts"] if part["title"] == "Lines"]
        return sorted(row[0] for table in tables for row in table["rows"])

    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert list_lines() == [SHORT, PNPM]
        for expected in ([], [SHORT, PNPM]):
            assert world.run("undo", world.run("history", "--json").json[0]["id"]).code == 0
            assert list_lines() == expected == sorted(world.bullets("LEARNED.md"))
        world.edit("LEARNED.md", remove=PNPM).wait(60).wait(60)
        world.type("s2", "use pnpm, not npm").leave("s2")
        assert list_lines() == [SHORT]
        (item,) = world.run("review", "--json").json
        assert world.run("accept", item["id"]).code == 0
        assert list_lines() == [SHORT, PNPM]
        assert world.run("forget", "answers short").code == 0
        assert list_lines() == [PNPM] == world.bullets("LEARNED.md")


def test_a_line_is_forgotten_in_its_project_alone(begin: Begin) -> None:
    """S-28: what is forgotten in one project is learned in another one; about the person, it is forgotten in all."""
    with begin(FACTS) as world:
        other = world.new_project("other")
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert "never learned again in this project" in world.run("forget", "pnpm").err
        world.type("s2", "use pnpm, not npm", cwd=other).leave("s2")
        assert world.bullets(other / "LEARNED.md") == [PNPM]
        assert "nothing is forgotten here" in world.run("learned", "--forgotten", cwd=other).err
        world.type("s3", "use pnpm, not npm").leave("s3")
        assert world.bullets("LEARNED.md") == [SHORT]


def test_what_is_forgotten_outlives_the_store(begin: Begin) -> None:
    """DESIGN "The store": a choice is known to a new store, which has its digest alone. It is counted, and its whole text lifts it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.run("forget", "pnpm")
        world.stop()
        for path in world.state.glob("tacitd.sqlite*"):
            path.unlink()
        world.start().type("s2", "use pnpm, not npm").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]
        said = world.run("learned", "--forgotten")
        assert "1 forgotten text is known by a digest alone" in said.err and "forget --undo TEXT" in said.err
        assert "nothing is forgotten" not in world.run("learned", "--forgotten", ".", "pnpm").err
        assert "forgotten already" in world.run("forget", PNPM).err
        assert "learned --forgotten" in world.run("forget", "--undo", "use pnpm").err
        done = world.run("forget", "--undo", PNPM)
        assert done.code == 0 and "it may be learned again" in done.err, done
        assert "nothing is forgotten here" in world.run("learned", "--forgotten").err
        world.type("s3", "use pnpm, not npm").leave("s3")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


@pytest.mark.parametrize("to", ["api", "everywhere"])
def test_undo_takes_a_move_back(begin: Begin, to: str) -> None:
    """DESIGN "Files that people edit too": a move is one change. Undone, the line is where it was, tacitd's as before, with its words;
    the file that was made for it is gone. The undo can be undone."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.path("api").mkdir()
        file = "api/AGENTS.md" if to == "api" else "~/.agents/LEARNED.md"
        before = world.read("LEARNED.md")
        where = ("--here", "api") if to == "api" else ("--everywhere",)
        assert world.run("move", find_id(world, PNPM), *where).code == 0
        world.wait(60)
        assert world.bullets("LEARNED.md") == [SHORT] and world.bullets(file) == [PNPM]
        (moved,) = [one for one in world.run("history", "--json").json if "move" in one["what"]]
        assert [(one["removed"], one["added"]) for one in moved["lines"]] == [(PNPM, ""), ("", PNPM)]
        undone = world.run("undo", moved["id"])
        assert undone.code == 0, undone
        world.wait(60).wait(60)
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM] and world.bullets(file) == []
        assert world.path(file).exists() == (to == "everywhere")
        assert world.read("LEARNED.md").split("\n## ")[0] == before.split("\n## ")[0]
        said = world.run("why", "pnpm").out
        assert "use pnpm, not npm" in said and "you removed it" not in said
        (undo,) = [one for one in world.run("history", "--json").json if one["undoes"] == moved["id"]]
        assert world.run("undo", undo["id"]).code == 0
        world.wait(60).wait(60)
        assert world.bullets("LEARNED.md") == [SHORT] and world.bullets(file) == [PNPM]
        assert world.run("forget", "pnpm").code == 0
        world.wait(60).wait(60)


def test_a_move_is_not_undone_by_half(begin: Begin) -> None:
    """DESIGN "Files that people edit too": a moved line that the person reworded since stays, and does not come back beside it."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        world.path("api").mkdir()
        world.run("move", find_id(world, PNPM), "--here", "api")
        moved = world.run("history", "--json").json[0]
        world.wait(60).edit("api/AGENTS.md", remove=PNPM, add="- Use pnpm 9, not npm").wait(60)
        said = world.run("undo", moved["id"])
        assert said.code != 0 and "removed or changed it since" in said.err
        assert world.bullets("LEARNED.md") == [SHORT]
        assert world.bullets("api/AGENTS.md") == ["Use pnpm 9, not npm"]
