"""What a person decides about lines: forget, forget --undo, forget --purge, accept, and the choices of `review`."""

from __future__ import annotations

from typing import Any

import pytest

from support_decisions import decide, find, list_items, notice
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.errors import FileRefusedError, UsageError
from tacitd.handler import Decision, StoredItem
from tacitd_handlers.learning.explain_line import explain_lines
from tacitd_handlers.learning.inventory import Inventory
from tacitd_handlers.learning.line_decisions import decide_line
from tacitd_handlers.learning.mirrors.mirror_names import PROJECT_MIRROR
from tacitd_handlers.learning.state import FORGOTTEN_FACT

REWORDED = "Always use pnpm in scripts"


def say_again(bench: Bench, line: str = PNPM) -> None:
    """The same is said in a later session; the model makes the same fact and `line` of it."""
    bench.answer((SYNTHESIS, lines(line)), (EXTRACTION, PNPM))
    bench.clock.advance(3600.0)
    bench.learn("use pnpm, not npm, I said", session=f"s{len(bench.model.asked)}")


def mirror(bench: Bench) -> str:
    """The copy that sessions load."""
    path = bench.root / PROJECT_MIRROR
    return path.read_text() if path.exists() else ""


def test_a_forgotten_line_is_removed_with_its_copy_and_never_learned_again(bench: Bench) -> None:
    """It is neither written nor offered when it is said again, also after a restart and in other words of the model."""
    bench.put("LEARNED.md", "# Mine\n\n## Coding\n- my own line\n")
    bench.learn()
    assert PNPM in mirror(bench)
    done = decide(bench, find(bench, PNPM), "drop")
    assert bench.bullets == ["my own line"] and PNPM not in mirror(bench)
    assert "app/LEARNED.md" in done.what
    for line in (PNPM, REWORDED):
        say_again(bench, line)
        bench.restart()
        assert bench.bullets == ["my own line"] and bench.status["withheld"] == 0
    assert bench.status["skipped"][FORGOTTEN_FACT] == 2
    assert bench.raw == ()


@pytest.mark.parametrize("is_own", [False, True])
def test_an_empty_section_goes_with_a_forgotten_line_unless_the_person_made_it(
    bench: Bench, is_own: bool
) -> None:
    """S-28: the heading that tacitd made for the line is removed with it, and comes back with it; a person's heading stays."""
    before = "# Mine\n\n## Coding\n" if is_own else "# Mine\n\n## Other\n- my own line\n"
    bench.put("LEARNED.md", before)
    bench.learn()
    decide(bench, find(bench, PNPM), "drop")
    assert bench.learned == before
    decide(bench, find(bench, PNPM, "forgotten"), "restore")
    assert bench.learned.endswith(f"## Coding\n- {PNPM}\n")
    decide(bench, find(bench, PNPM), "drop")
    assert bench.learned == before


def test_a_forgotten_line_stays_forgotten_when_another_tool_states_it(bench: Bench) -> None:
    """A fact that another program appended to the raw file does not reach the synthesis."""
    bench.learn()
    decide(bench, find(bench, PNPM), "drop")
    bench.files.tmp_dir.mkdir(exist_ok=True)
    bench.files.raw_file.write_text(f'{{"ts": "", "facts": ["{PNPM}"]}}\n')
    asked = len(bench.model.asked)
    bench.due("synthesize", bench.project)
    assert bench.bullets == [] and len(bench.model.asked) == asked


def test_what_the_model_proposes_of_other_facts_is_dropped_where_it_was_forgotten(bench: Bench) -> None:
    """The synthesis may repeat a forgotten line although no fact says it."""
    bench.learn()
    decide(bench, find(bench, PNPM), "drop")
    bench.answer((SYNTHESIS, lines(PNPM, SHORT)), (EXTRACTION, SHORT))
    bench.learn("short answers please; use pnpm never npm", session="s2")
    assert bench.bullets == [SHORT] and bench.status["withheld"] == 0


def test_forget_is_taken_back(bench: Bench) -> None:
    """The line stands again where it was, and may be learned."""
    bench.learn()
    before = bench.learned
    item = find(bench, PNPM)
    decide(bench, item, "drop")
    forgotten = find(bench, PNPM, "forgotten")
    assert forgotten.id == item.id
    done = decide(bench, forgotten, "restore")
    assert bench.bullets == [PNPM] and bench.learned == before and "put back" in done.what
    assert [one.state for one in list_items(bench)] == ["stored"]


def test_forget_is_taken_back_although_the_file_is_gone(bench: Bench) -> None:
    """The mark is lifted, and it says why nothing was put back."""
    bench.learn()
    decide(bench, find(bench, PNPM), "drop")
    bench.files.learned_file.unlink()
    notice(bench)
    done = decide(bench, find(bench, PNPM, "forgotten"), "restore")
    assert "not put back" in done.what and "deleted or moved" in done.what
    say_again(bench)
    assert bench.bullets == [PNPM]


def test_a_persons_own_line_is_an_item_that_asks(bench: Bench) -> None:
    """Its bytes go only by the person's decision, and the other bytes stay."""
    bench.learn()
    bench.files.learned_file.write_text(bench.learned + "\n## Mine\n\n- my own line  \n\nprose\n")
    item = find(bench, "my own line")
    assert item.by_person and not find(bench, PNPM).by_person
    decide(bench, item, "drop")
    assert "my own line" not in bench.learned and "prose\n" in bench.learned and bench.bullets == [PNPM]


def test_purge_blanks_the_words_in_the_logs(bench: Bench) -> None:
    """Line, facts and prompts are gone from every file of the state directory; it stays forgotten, and can be lifted."""
    bench.learn("use pnpm, not npm: npm breaks our lockfile")
    item = find(bench, PNPM)
    decide(bench, item, "drop", purge=True)
    data = b"".join(path.read_bytes() for path in bench.state.rglob("*") if path.is_file())
    assert PNPM.encode() not in data and b"breaks our lockfile" not in data
    bench.restart()
    say_again(bench)
    assert bench.bullets == []
    (forgotten,) = [one for one in list_items(bench) if one.state == "forgotten"]
    assert (forgotten.id, forgotten.text) == (item.id, "")
    decide(bench, forgotten, "restore")
    say_again(bench)
    assert bench.bullets == [PNPM]


def test_purge_of_a_reworded_line_blanks_the_words_before_it_too(bench: Bench) -> None:
    """The first correction's words, and the old wording, which is not learned again either."""
    bench.answer((EXTRACTION, f"[1] Corrected: {PNPM}"), (SYNTHESIS, f"{lines(PNPM)}\nFROM: 1"))
    bench.learn("use pnpm, never npm: npm broke the lockfile", session="s1")
    answer = f"{lines(REWORDED)}\nFROM: 1\nREPLACES: {PNPM}"
    bench.answer((EXTRACTION, f"[1] Corrected: AGAIN: {PNPM}"), (SYNTHESIS, answer))
    bench.learn("I said pnpm in scripts", session="s2")
    decide(bench, find(bench, REWORDED), "drop", purge=True)
    data = b"".join(path.read_bytes() for path in bench.state.rglob("*") if path.is_file())
    for words in (PNPM, REWORDED, "broke the lockfile", "pnpm in scripts"):
        assert words.encode() not in data, words
    say_again(bench)
    assert bench.bullets == []


def test_what_was_forgotten_can_be_purged_later(bench: Bench) -> None:
    """The words are found through the record of the decision."""
    bench.learn()
    decide(bench, find(bench, PNPM), "drop")
    decide(bench, find(bench, PNPM, "forgotten"), "drop", purge=True)
    data = b"".join(path.read_bytes() for path in bench.state.rglob("*") if path.is_file())
    assert PNPM.encode() not in data
    say_again(bench)
    assert bench.bullets == []


def remove_by_hand(bench: Bench) -> None:
    """The person deletes the line, and says the same again: it is withheld."""
    bench.learn()
    bench.files.learned_file.write_text("# Learned Preferences\n\n## Coding\n")
    bench.changed(bench.files.learned_file)
    say_again(bench)


def test_a_withheld_line_is_accepted(bench: Bench) -> None:
    """It is written as a learned line, with its copy, and is not withheld any more."""
    remove_by_hand(bench)
    item = find(bench, PNPM)
    assert (item.kind, item.state) == ("withheld line", "proposed") and "said it again" in item.review
    decide(bench, item, "keep")
    assert bench.bullets == [PNPM] and PNPM in mirror(bench)
    assert bench.status["withheld"] == 0 and find(bench, PNPM).kind == "line"


def test_a_withheld_line_is_dropped_for_good(bench: Bench) -> None:
    """It is not offered again."""
    remove_by_hand(bench)
    decide(bench, find(bench, PNPM), "drop")
    assert bench.status["withheld"] == 0
    say_again(bench)
    assert bench.bullets == [] and [one.state for one in list_items(bench)] == ["forgotten"]


def refuse_one(bench: Bench) -> None:
    """The model proposes a fact that nobody typed."""
    bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, f"{PNPM}\nUse version 6.6.6"))
    bench.learn()


def test_a_text_that_was_refused_twice_is_one_question(bench: Bench) -> None:
    """Dropped once, it is not asked about again; nor is it when the model proposes it a third time."""
    refuse_one(bench)
    bench.clock.advance(3600.0)
    bench.learn("pnpm, not npm: again", session="s2")
    item = find(bench, "Use version 6.6.6")
    assert item.review.endswith("(2 times)") and item.words == ("use pnpm, not npm", "pnpm, not npm: again")
    decide(bench, item, "drop")
    bench.clock.advance(3600.0)
    bench.learn("pnpm, not npm!", session="s3")
    assert [one.state for one in list_items(bench) if "6.6.6" in one.text] == ["forgotten"]


def test_a_refused_fact_that_the_person_wrote_by_hand_is_not_asked_about(bench: Bench) -> None:
    """`learned --refused` says that writing it stores it too; in whatever spelling."""
    refuse_one(bench)
    bench.files.learned_file.write_text(bench.learned + "- use version 6.6.6.\n")
    assert [one.text for one in list_items(bench) if one.review] == []


def test_what_was_decided_is_asked_again_only_if_it_comes_again(bench: Bench) -> None:
    """A refused text that was stored, removed by hand and refused again; a withheld line that was accepted likewise."""
    refuse_one(bench)
    for text in ("Use version 6.6.6", PNPM):
        for _ in range(2):
            if text != PNPM or find(bench, text).state == "proposed":
                decide(bench, find(bench, text, "proposed"), "keep")
            bench.files.learned_file.write_text(bench.learned.replace(f"- {text}\n", ""))
            notice(bench)
            assert [one for one in list_items(bench) if one.text == text] == []
            bench.answer((SYNTHESIS, lines(PNPM)), (EXTRACTION, f"{PNPM}\nUse version 6.6.6"))
            bench.clock.advance(3600.0)
            bench.learn("use pnpm, not npm, again", session=f"s{len(bench.model.asked)}")
            assert find(bench, text).state == "proposed"


def test_a_refused_fact_is_accepted(bench: Bench) -> None:
    """It becomes a line; its words were kept in view. It is not listed any more."""
    refuse_one(bench)
    item = find(bench, "Use version 6.6.6")
    assert item.kind == "refused fact" and item.words == ("use pnpm, not npm",) and "6.6.6" in item.review
    decide(bench, item, "keep")
    assert "Use version 6.6.6" in bench.bullets
    assert [one.kind for one in list_items(bench)] == ["line", "line"]


def test_a_refused_fact_is_accepted_in_the_persons_words(bench: Bench) -> None:
    """The line is the person's: it is not `learned`, and the fact is not offered again."""
    refuse_one(bench)
    decide(bench, find(bench, "Use version 6.6.6"), "edit", " - Use version 7 ")
    assert find(bench, "Use version 7").by_person
    assert all("6.6.6" not in one.text for one in list_items(bench))


def test_a_line_is_worded_anew(bench: Bench) -> None:
    """In its place; the old words are not written again, and the line is the person's from then on."""
    bench.learn()
    decide(bench, find(bench, PNPM), "edit", "Use pnpm 9")
    assert bench.bullets == ["Use pnpm 9"] and find(bench, "Use pnpm 9").by_person
    say_again(bench)
    assert bench.bullets == ["Use pnpm 9"]


def test_a_stale_line_is_asked_about_once(bench: Bench) -> None:
    """SPEC S-54: after 100 days without being said; kept, it is asked about again after 100 more."""
    bench.learn()
    assert find(bench, PNPM).review == ""
    bench.clock.jump(101 * 86_400.0)
    item = find(bench, PNPM)
    assert item.review == "it was last said 101 days ago"
    decide(bench, item, "keep")
    assert bench.bullets == [PNPM] and find(bench, PNPM).review == ""
    bench.clock.jump(101 * 86_400.0)
    assert find(bench, PNPM).review != ""


def contradict(bench: Bench) -> StoredItem:
    """The model wants to replace a line of the person's: both stand, and the new one is asked about."""
    bench.put("LEARNED.md", "# Mine\n\n## Coding\n- Use npm everywhere\n")
    bench.answer((SYNTHESIS, f"{lines(PNPM)}\nFROM: 1\nREPLACES: Use npm everywhere"), (EXTRACTION, PNPM))
    bench.learn()
    assert bench.bullets == ["Use npm everywhere", PNPM]
    item = find(bench, PNPM)
    assert item.review == "it contradicts your line in LEARNED.md: Use npm everywhere"
    assert find(bench, "Use npm everywhere").review == ""
    return item


def test_a_line_that_contradicts_the_persons_is_asked_about_until_it_is_decided(bench: Bench) -> None:
    """S-26, S-28: REPLACES of a person's line. Kept, both stay; it is not asked again, also after a restart."""
    decide(bench, contradict(bench), "keep")
    bench.restart()
    assert find(bench, PNPM).review == "" and bench.bullets == ["Use npm everywhere", PNPM]


def test_a_line_that_contradicts_the_persons_is_dropped(bench: Bench) -> None:
    """The person's line stays as it was."""
    decide(bench, contradict(bench), "drop")
    assert bench.bullets == ["Use npm everywhere"]


def test_a_contradiction_ends_with_the_persons_line(bench: Bench) -> None:
    """Reworded or deleted by the person, it is not asked about any more."""
    contradict(bench)
    bench.files.learned_file.write_text(bench.learned.replace("Use npm everywhere", "Use npm in the kiosk"))
    assert find(bench, PNPM).review == ""


def test_what_cannot_be_decided(bench: Bench) -> None:
    """Each is refused with a reason, and nothing changes."""
    refuse_one(bench)
    item, refused = find(bench, PNPM), find(bench, "Use version 6.6.6")
    with pytest.raises(UsageError, match="no line"):
        decide_line(bench.handler, bench.tools(), Decision("00000000", "drop", bench.root))
    with pytest.raises(UsageError, match="does not apply"):
        decide(bench, item, "restore")
    with pytest.raises(UsageError, match="empty"):
        decide(bench, item, "edit", " - ")
    bench.write = "off"
    with pytest.raises(FileRefusedError, match="excluded"):
        decide(bench, refused, "keep")
    assert bench.bullets == [PNPM] and find(bench, "Use version 6.6.6").state == "proposed"


def test_a_decision_that_a_crash_cut_in_two_is_made_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision is recorded and the file is not changed: the same command removes the line."""
    bench.learn()
    item = find(bench, PNPM)
    with monkeypatch.context() as patch:
        patch.setattr(
            bench.history,
            "run_transaction",
            lambda *args, **named: (_ for _ in ()).throw(OSError(28, "full")),
        )
        with pytest.raises(OSError, match="full"):
            decide(bench, item, "drop")
    assert bench.bullets == [PNPM]
    bench.restart()
    decide(bench, find(bench, PNPM, "stored"), "drop")
    assert bench.bullets == []
    decide(bench, find(bench, PNPM, "forgotten"), "restore")
    assert bench.bullets == [PNPM]


def test_a_refused_forget_forgets_nothing(bench: Bench) -> None:
    """The file leads out of the project: the line stays, and is not listed as forgotten beside it."""
    bench.learn()
    item = find(bench, PNPM)
    outside = bench.root.parent / "elsewhere.md"
    bench.files.learned_file.rename(outside)
    bench.files.learned_file.symlink_to(outside)
    with pytest.raises(FileRefusedError):
        decide(bench, item, "drop")
    assert PNPM in outside.read_text()
    assert not [one for one in list_items(bench) if one.state == "forgotten"]


def explain(bench: Bench, text: str) -> dict[str, Any]:
    """What `tacitd why` knows of the one line with this text."""
    inventory = Inventory(bench.state, bench.clock)
    lines = [one for one in inventory.list_lines(bench.root) if one.line == text]
    (found,) = explain_lines(lines, inventory)
    return found


def test_a_line_that_came_back_keeps_its_words(bench: Bench) -> None:
    """After `forget --undo`, after the undo of an undo, and after both: the first words and session, and that it is back."""
    bench.learn("use pnpm, not npm")
    first = explain(bench, PNPM)
    assert first["words"] == ["use pnpm, not npm"] and first["sessions"] == ["s1"] and not first["restored"]
    decide(bench, find(bench, PNPM), "drop")
    decide(bench, find(bench, PNPM, "forgotten"), "restore")
    again = explain(bench, PNPM)
    assert again["restored"] > first["at"]
    assert {**again, "restored": ""} == first
    restored = [one for one in bench.history.list_transactions(bench.root) if "undo" in one.cause][-1]
    undone = bench.history.undo_transaction(restored.id)
    assert bench.bullets == [], "the undo of the restoration"
    bench.clock.advance(60.0)
    bench.history.undo_transaction(undone.id)
    bench.restart()
    last = explain(bench, PNPM)
    assert last["restored"] > again["restored"] and {**last, "restored": ""} == first


def test_an_accepted_line_has_the_words_that_it_was_refused_with(bench: Bench) -> None:
    """And the session that they are from."""
    refuse_one(bench)
    decide(bench, find(bench, "Use version 6.6.6"), "keep")
    reason = explain(bench, "Use version 6.6.6")
    assert reason["words"] == ["use pnpm, not npm"] and reason["sessions"] == ["s1"]


def test_an_accepted_withheld_line_has_the_words_of_both_times(bench: Bench) -> None:
    """Those of the line that was removed by hand, and those by which it was learned again."""
    remove_by_hand(bench)
    decide(bench, find(bench, PNPM), "keep")
    assert explain(bench, PNPM)["words"] == ["use pnpm, not npm", "use pnpm, not npm, I said"]


def test_a_persons_line_that_was_forgotten_and_put_back_is_the_persons(bench: Bench) -> None:
    """It is neither listed as learned nor changed by later lines; also where tacitd had written the same once."""
    bench.learn()
    own = "keep my own words"
    bench.files.learned_file.write_text(bench.learned + f"\n## Mine\n\n- {own}\n")
    for text in (own, PNPM):
        if text == PNPM:
            decide(bench, find(bench, PNPM), "drop")
            bench.files.learned_file.write_text(bench.learned + f"- {PNPM}\n")
        decide(bench, find(bench, text, "stored"), "drop")
        decide(bench, find(bench, text, "forgotten"), "restore")
        assert find(bench, text, "stored").by_person
        assert [one.line for one in Inventory(bench.state, bench.clock).list_lines(bench.root)] == (
            [PNPM] if text == own else []
        )
