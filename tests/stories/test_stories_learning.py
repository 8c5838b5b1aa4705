"""Learning: what a person types becomes lines of the project's files (SPEC S)."""

from __future__ import annotations

import io
import json
import re

import pytest

from support_world import Begin, Fact, Facts
from tacitd.model.port import ModelRequest
from tacitd.testing import world as world_module

PNPM, SHORT = "Use pnpm, not npm", "Keep answers short"
MODULE = "Name each handler after its event"
FACTS: Facts = {
    "pnpm": Fact(PNPM, corrected=True),
    "answers short": Fact(SHORT, section="Communication"),
    "each handler": Fact(MODULE, file="src/handlers/AGENTS.md", section="Architecture"),
    "tabs in Go": "Use tabs in Go files",
    "yarn from now on": Fact("Use yarn from now on, not pnpm", replaces=PNPM),
    "lunch": Fact("Prefers lunch at noon", is_left_out=True),
}


def test_a_correction_becomes_a_line_that_stays(begin: Begin) -> None:
    """S-01, S-27: a correction stands in LEARNED.md after the session, also after a restart, and `learned` shows it."""
    with begin(FACTS) as world:
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm, not npm").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        shown = world.run("learned")
        assert shown.code == 0 and PNPM in shown.out
        before = world.list_files()
        assert world.restart().wait(60).list_files() == before


def test_nothing_is_written_before_the_session_ends(begin: Begin) -> None:
    """S-01, S-02: ten minutes after the words the fact waits in the raw file, and LEARNED.md comes with the session's end."""
    with begin(FACTS) as world:
        world.say("s1", "I run npm install.").type("s1", "no, use pnpm, not npm").wait(700)
        (line,) = map(json.loads, world.read("tmp/learning-raw.jsonl").splitlines())
        assert line["facts"] == [PNPM] and line["ts"].endswith("Z")
        assert world.read("LEARNED.md") == ""
        world.leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM] and world.read("tmp/learning-raw.jsonl") == ""


def test_ten_prompts_are_asked_about_at_once(begin: Begin) -> None:
    """S-01: the tenth prompt of a session makes a batch of ten, without ten minutes of quiet."""
    with begin(FACTS) as world:
        world.type("s1", *(f"step {n}: go on with part {n}" for n in range(9)), "use pnpm, not npm")
        assert len([one for one in world.prompts if "opinion mining" in one]) == 1
        assert PNPM in world.read("tmp/learning-raw.jsonl")


def test_words_without_a_preference_write_nothing(begin: Begin) -> None:
    """S-02, S-03: NONE is no fact: no raw file, no LEARNED.md."""
    with begin(FACTS) as world:
        world.type("s1", "please fix the failing build").leave("s1")
        assert world.read("LEARNED.md") == "" and world.read("tmp/learning-raw.jsonl") == ""


def test_what_synthesis_leaves_out_is_not_written(begin: Begin) -> None:
    """S-36: a fact of which synthesis makes no line is not in the files; the others of the session are."""
    with begin(FACTS) as world:
        world.type("s1", "I have lunch at noon", "keep answers short").leave("s1")
        assert world.bullets("LEARNED.md") == [SHORT]


def test_lines_stand_under_their_sections(begin: Begin) -> None:
    """S-25, S-27: each line under the heading that synthesis names, without a "User" prefix, ids or metadata."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short", "use tabs in Go files").leave("s1")
        text = world.read("LEARNED.md")
        assert text.startswith("# Learned Preferences\n")
        assert f"## Coding\n- {PNPM}\n- Use tabs in Go files\n" in text
        assert f"## Communication\n- {SHORT}\n" in text


def test_said_again_it_stands_once(begin: Begin) -> None:
    """S-36: a known fact that is said in another session counts again and is not written twice."""
    with begin(FACTS) as world:
        world.type("s1", "keep answers short").leave("s1")
        world.type("s2", "keep answers short, as ever").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]
        (line,) = world.run("learned", "--json").json
        assert line["seenCount"] == 2


def test_a_contradiction_replaces_the_line(begin: Begin) -> None:
    """S-26: what contradicts a learned line takes its place, and history shows both."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        world.type("s2", "we use yarn from now on, not pnpm").leave("s2")
        assert world.bullets("LEARNED.md") == ["Use yarn from now on, not pnpm"]
        assert PNPM in world.run("history").out


def test_a_line_of_the_person_is_not_replaced(begin: Begin) -> None:
    """S-28: a line that the person wrote stays when something contradicts it."""
    with begin(FACTS) as world:
        world.write("LEARNED.md", f"# Learned Preferences\n\n## Coding\n- {PNPM}\n")
        world.type("s1", "we use yarn from now on, not pnpm").leave("s1")
        assert PNPM in world.bullets("LEARNED.md")


def test_a_modules_line_goes_to_its_folder(begin: Begin) -> None:
    """S-24, S-30: what was said about a folder that the session worked in stands in that folder's AGENTS.md."""
    with begin(FACTS) as world:
        world.path("src/handlers").mkdir(parents=True)
        world.write("src/handlers/a.py", "x = 1\n")
        world.edit_in_session("s1", world.path("src/handlers/a.py"))
        world.type("s1", "name each handler after its event").leave("s1")
        assert world.bullets("src/handlers/AGENTS.md") == [MODULE]
        assert world.read("LEARNED.md") == ""


def test_a_folders_own_agents_file_keeps_its_text(begin: Begin) -> None:
    """S-28: an AGENTS.md that the person wrote keeps each byte of their text; the line is added."""
    own = "# Handlers\n\nRead `base.py` first.\n\n* one\n* two\n"
    with begin(FACTS) as world:
        world.write("src/handlers/AGENTS.md", own)
        world.edit_in_session("s1", world.path("src/handlers/a.py"))
        world.type("s1", "name each handler after its event").leave("s1")
        text = world.read("src/handlers/AGENTS.md")
        assert text.startswith(own.rstrip("\n")) and f"- {MODULE}\n" in text


def test_a_folder_that_does_not_exist_gives_way_to_the_project(begin: Begin) -> None:
    """S-24: a line for a folder that does not exist goes to LEARNED.md."""
    with begin(FACTS) as world:
        world.type("s1", "name each handler after its event").leave("s1")
        assert world.bullets("LEARNED.md") == [MODULE] and not world.path("src").exists()


def test_a_path_out_of_the_project_gives_way_to_the_project(begin: Begin) -> None:
    """S-24: a line for a path outside the project is written there nowhere; the person's words go to LEARNED.md."""
    facts: Facts = {"pnpm": Fact(PNPM, file="../../LEARNED.md"), "answers short": SHORT}
    with begin(facts) as world:
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM, SHORT]
        assert "work/LEARNED.md" not in world.list_files() and "LEARNED.md" not in world.list_files()


def test_the_root_agents_file_is_the_persons(begin: Begin) -> None:
    """S-24: a line for the root's AGENTS.md goes to LEARNED.md; the person's file stays as it is."""
    with begin({"pnpm": Fact(PNPM, file="AGENTS.md")}) as world:
        world.write("AGENTS.md", "# App\n\nBe brief.\n")
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.read("AGENTS.md") == "# App\n\nBe brief.\n" and world.bullets("LEARNED.md") == [PNPM]


def test_what_the_agents_file_says_is_not_learned(begin: Begin) -> None:
    """S-06: a fact that stands in the project's AGENTS.md is not recorded."""
    with begin(FACTS) as world:
        world.write("AGENTS.md", f"# App\n\n- {PNPM}\n")
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.read("LEARNED.md") == ""


def test_what_a_directive_says_is_not_learned(begin: Begin) -> None:
    """S-06, S-40: a fact of the person's coding directives is not recorded in any project."""
    with begin(FACTS) as world:
        world.write("~/.agents/docs/development/coding-directives.md", f"# Coding\n\n- {PNPM}\n")
        world.type("s1", "use pnpm, not npm", "keep answers short").leave("s1")
        assert world.bullets("LEARNED.md") == [SHORT]


def test_the_summary_follows_what_is_learned(begin: Begin) -> None:
    """S-32, S-41, S-43: after synthesis the summary has the new line, in fewer than 50 lines."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        summary = world.read("tmp/known-facts-summary.md")
        assert PNPM in summary and len(summary.splitlines()) < 50


def test_init_makes_learned_and_the_summary(begin: Begin) -> None:
    """S-40 to S-42: `init` makes LEARNED.md with its title, and the summary of what the documents say."""
    with begin(FACTS) as world:
        world.write("AGENTS.md", "# App\n\n- Run the tests with make\n")
        assert world.run("init").code == 0
        assert world.read("LEARNED.md").startswith("# Learned Preferences\n")
        assert "Run the tests with make" in world.read("tmp/known-facts-summary.md")


def test_init_where_there_is_no_project(begin: Begin) -> None:
    """DESIGN "Commands": it ends with 2 and says why, with and without a daemon, also for an excluded directory."""
    with begin() as world:
        world.run("exclude", ".")
        for _ in range(2):
            for place, why in ((world.home, "is not a project"), (world.project, "--undo")):
                ran = world.run("init", str(place))
                assert ran.code == 2 and why in ran.err
            assert world.read("LEARNED.md") == ""
            if world.runs:
                world.stop()


def test_init_without_any_document_asks_nobody(begin: Begin) -> None:
    """S-40: without a source the summary has a header only, and no model is asked."""
    with begin(FACTS) as world:
        assert world.run("init").code == 0
        assert world.prompts == [] and world.path("tmp/known-facts-summary.md").exists()


def test_init_without_a_model_takes_the_documents_lines(begin: Begin) -> None:
    """S-44: if the model does not answer, the summary has the documents' own lines."""
    with begin(FACTS) as world:
        world.fail_calls("overloaded")
        world.write("AGENTS.md", "# App\n\n- Run the tests with make\n")
        world.run("init")
        assert "Run the tests with make" in world.read("tmp/known-facts-summary.md")


def test_a_bare_daemon_litters_no_project(begin: Begin) -> None:
    """S-42: a session without a fact makes no LEARNED.md."""
    with begin(FACTS) as world:
        world.type("s1", "what does this do?").say("s1", "It prints.").leave("s1")
        assert world.read("LEARNED.md") == "" and world.git("status", "--porcelain") == ""


def test_two_sessions_of_one_project_end_together(begin: Begin) -> None:
    """S-53: facts of two sessions that end at once are merged into one file."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").type("s2", "keep answers short").leave("s1")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_a_fork_is_not_learned_twice(begin: Begin) -> None:
    """S-05, P-29: the copied history of a fork is not asked about again; what is typed in it is learned."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1")
        asked = len(world.prompts)
        world.fork("s1", "s2").type("s2", "keep answers short").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        assert not any(
            "use pnpm, not npm\n" in one for one in world.prompts[asked:] if "opinion mining" in one
        )


def test_a_queued_message_is_learned_once(begin: Begin) -> None:
    """S-05: a message that was typed while the assistant worked is learned, once."""
    with begin(FACTS) as world:
        world.type("s1", "go on").queue("s1", "use pnpm, not npm").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        (line,) = world.run("learned", "--json").json
        assert line["seenCount"] == 1


def test_what_agents_and_tools_say_is_not_learned(begin: Begin) -> None:
    """S-05: prompts of sub-agents, results of tools and the assistant's own words are nobody's preferences."""
    with begin(FACTS) as world:
        world.type("s1", "have a look").say("s1", "I would use pnpm, not npm")
        world.run_agent("s1", "use pnpm, not npm", "I keep answers short")
        world.use_tool("s1", "Bash", command="cat notes", answer="use tabs in Go files").leave("s1")
        assert world.read("LEARNED.md") == ""


def test_a_summary_of_a_compaction_is_not_learned(begin: Begin) -> None:
    """S-05: the summary that the client puts into a compacted session is not the person's words."""
    with begin(FACTS) as world:
        world.type("s1", "have a look").compact("s1", "The user said: use pnpm, not npm").leave("s1")
        assert world.read("LEARNED.md") == ""


def test_a_cleared_session_goes_on_in_a_new_one(begin: Begin) -> None:
    """S-05: after `/clear` both sessions are learned from, and the client's own records are not."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").clear("s2").type("s2", "keep answers short").leave("s2")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_the_words_of_a_refused_call_are_learned(begin: Begin) -> None:
    """S-05: what the person says when they refuse a tool's call is typed by them."""
    words = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse pnpm, not npm"
    with begin(FACTS) as world:
        world.type("s1", "install it")
        world.use_tool(
            "s1", "Bash", command="npm install", answer=words, result=f"Error: {words}", error=True
        )
        world.leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


def test_a_session_that_goes_on_next_day_is_learned_again(begin: Begin) -> None:
    """S-20: a session that ended and goes on ends a second time, and what was said since is learned."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").leave("s1").wait_days(1)
        world.type("s1", "keep answers short").leave("s1")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_a_pause_passes_over_what_is_typed(begin: Begin) -> None:
    """DESIGN "The way of a prompt": what is typed in a pause is not put to the model, also later; `scan` takes it."""
    with begin(FACTS) as world:
        assert world.run("pause").code == 0
        world.type("s1", "use pnpm, not npm").leave("s1")
        assert world.run("resume").code == 0
        world.type("s2", "keep answers short").leave("s2")
        assert world.bullets("LEARNED.md") == [SHORT]
        assert not any("use pnpm, not npm" in one for one in world.prompts)
        assert world.run("scan", "--since", "1d", "--yes").code == 0
        world.leave("s1")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]


def test_a_pause_of_one_session_leaves_the_others(begin: Begin) -> None:
    """DESIGN "Commands": `pause --session` passes over that session alone."""
    with begin(FACTS) as world:
        world.run("pause", "--session", "s1")
        world.type("s1", "use pnpm, not npm").type("s2", "keep answers short").leave("s1")
        assert world.bullets("LEARNED.md") == [SHORT]


@pytest.mark.parametrize("scanned", [False, True])
def test_what_was_said_in_an_excluded_project_is_no_context_in_another(begin: Begin, scanned: bool) -> None:
    """DESIGN "Ingest": a session may go on in another directory; nothing of the excluded one is put to the model or kept."""
    world = begin(FACTS)
    secret = world.new_project("secret")
    with world:
        world.run("exclude", str(secret))
        world.run(*(("pause",) if scanned else ("resume",)))
        world.type("s1", "begin", cwd=secret).say("s1", "The launch word is Zebra. npm or pnpm?", cwd=secret)
        world.type("s1", "use pnpm, not npm").leave("s1")
        if scanned:
            world.run("resume")
            assert world.run("scan", "--since", "1d", "--yes").code == 0
            world.wait()
        assert any("use pnpm, not npm" in one for one in world.prompts)
        assert not any("Zebra" in one for one in world.prompts)


def test_scan_learns_from_before_the_first_start(begin: Begin) -> None:
    """DESIGN "The way of a prompt": what was typed before the first start is read, and learned only by `scan`."""
    world = begin(FACTS)
    world.type("s1", "use pnpm, not npm")
    with world.wait_days(2):
        world.leave("s1")
        assert world.prompts == []
        estimate = world.run("scan", "--since", "7d", "--dry-run")
        assert "1 prompt" in estimate.out + estimate.err
        assert world.run("scan", "--since", "7d", "--yes").code == 0
        world.leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]


class Terminal(io.TextIOWrapper):
    """What a program takes for a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.timeout(30)
def test_scan_on_a_terminal_waits_for_no_silence(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    """DESIGN "Control": a person waits for `scan`, also on a terminal, so what was typed a minute before is sent at once."""
    world = begin(FACTS)
    world.type("s1", "use pnpm, not npm")
    with world:
        monkeypatch.setattr(
            world_module,
            "_text_stream",
            lambda text="": Terminal(io.BytesIO(text.encode()), "utf-8", write_through=True),
        )
        done = world.run("scan", "--since", "7d", given="y\n")
        monkeypatch.undo()
        assert (
            done.code == 0
            and re.search("learning: [01] of 1", done.err)
            and world.bullets("LEARNED.md") == [PNPM]
        )


def test_sync_and_synthesize_do_not_wait_for_the_end(begin: Begin) -> None:
    """DESIGN "Control": `sync` has the facts extracted now, `synthesize` has the lines written now."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm")
        assert world.run("sync").code == 0
        assert PNPM in world.read("tmp/learning-raw.jsonl")
        done = world.run("synthesize")
        assert done.code == 0 and world.bullets("LEARNED.md") == [PNPM]


def test_lines_of_another_program_are_learned(begin: Begin) -> None:
    """S-21: what another program of this person appends to the raw file becomes a line."""
    with begin(FACTS) as world:
        world.type("s1", "use pnpm, not npm").wait(700)
        with world.path("tmp/learning-raw.jsonl").open("a") as file:
            file.write(json.dumps({"ts": f"{world.date(-9)}T00:00:00Z", "facts": [SHORT]}) + "\nbroken\n")
        world.leave("s1")
        assert sorted(world.bullets("LEARNED.md")) == [SHORT, PNPM]
        assert "1 lines of" in world.run("status").out and world.read("tmp/learning-raw.jsonl") == "broken\n"


def test_the_raw_file_of_a_cloned_repository_teaches_nothing(begin: Begin) -> None:
    """S-52: a raw file that git tracks came with the repository; no line is made of it."""
    with begin(FACTS) as world:
        world.write(
            "tmp/learning-raw.jsonl",
            json.dumps({"ts": f"{world.date(-9)}T00:00:00Z", "facts": [SHORT]}) + "\n",
        )
        world.git("add", "-f", "tmp/learning-raw.jsonl")
        world.git("commit", "-q", "-m", "Seed")
        world.type("s1", "hello").leave("s1").wait(3600)
        assert world.read("LEARNED.md") == ""


def test_secrets_are_blanked(begin: Begin) -> None:
    """S-67: a token that was typed reaches neither the model nor a file."""
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    with begin(FACTS) as world:
        world.type("s1", f"use pnpm, not npm, with token {token}").leave("s1")
        assert world.bullets("LEARNED.md") == [PNPM]
        assert not any(token in one for one in world.prompts)


def test_an_answer_that_repeats_the_prompt_is_no_line(begin: Begin) -> None:
    """S-35: neither the rules of the prompt nor its example become a line, and the model is asked once more."""
    answer = '{"FILE": "LEARNED.md", "SECTION": "Coding", "FACT": "Use pnpm, not npm", "FROM": [2, 5], "REPLACES": ["L3"]}'
    echo = f"Scoping rules:\n- General preferences (coding style, communication) → LEARNED.md (project root)\n{answer}"
    with begin({"answers short": SHORT}) as world:
        rules = world.model.rules

        def repeat(_: ModelRequest) -> str:
            world.model.rules = rules
            return echo

        world.model.rules = [("knowledge synthesis", repeat), *rules]
        world.type("s1", "keep answers short").leave("s1").wait_days(1)
        assert world.bullets("LEARNED.md") == [SHORT]


@pytest.mark.parametrize(
    ("typed", "turned"),
    [
        ("Run the linter before committing anything", "Commit anything before running the linter"),
        ("No borres nunca las migraciones viejas", "Borra las migraciones viejas"),
        ("Nutze hier immer Tabs statt Leerzeichen", "Nutze hier immer Leerzeichen statt Tabs"),
        ("絶対に main ブランチに直接 push しないで", "main ブランチに直接 push する"),
        ("用制表符而不是空格来缩进代码", "用空格而不是制表符来缩进代码"),
        ("لا تدفع مباشرة إلى الفرع main", "ادفع مباشرة إلى الفرع main"),
    ],
)
def test_a_model_that_turns_words_round_changes_nothing(begin: Begin, typed: str, turned: str) -> None:
    """Issue 39, point 20: what was typed is learned as it was typed, in each language; the model's contrary of it is not."""
    with begin({typed: turned, "nobody typed this": typed}) as world:
        world.type("s1", typed).leave("s1")
        assert world.bullets("LEARNED.md") == [typed]
