"""A line that was learned in three projects is offered as a rule for all of them (SPEC S-55)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_cli import Cli
from support_decisions import decide, list_person_items
from support_learning import EXTRACTION, PNPM, SHORT, SYNTHESIS, Bench, lines
from tacitd.errors import UsageError
from tacitd.events import Project
from tacitd.files.purge import purge_texts
from tacitd.handler import Commit, Decision, StoredItem
from tacitd.testing import FakeClock
from tacitd_handlers.learning.adopted_rules import AdoptedRules, LearnedRules, list_open_offers
from tacitd_handlers.learning.line_decisions import decide_line
from tacitd_handlers.learning.offer_items import make_offer_id
from tacitd_handlers.learning.offers import find_offers
from tacitd_handlers.learning.person_decisions import LineDecisions, make_drop
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared.project_identity import identify_project


def learned(
    state: LearningState, root: str, *put: str, at: float = 1.0, removed: tuple[str, ...] = ()
) -> None:
    look = {"removed": {"LEARNED.md": list(removed)}, "project": root} if removed else {}
    data = {"kind": "synthesis", "project": root, "put": list(put), "lines": len(put), "look": look}
    state.fold_commit(Commit(at, "Due", "", "s", -1, data))


def test_three_projects_make_an_offer() -> None:
    """In whatever spelling; two clones are one project, a removed line and a decided one do not count."""
    state = LearningState()
    for at, root in enumerate(("/a", "/b", "/clone-of-b"), 1):
        learned(state, root, "Use pnpm", "Use tabs", at=float(at))
    clones = {Path("/clone-of-b"): "/b"}

    def identify(root: Path) -> str:
        return clones.get(root, str(root))

    assert find_offers(state, (), identify, LineDecisions()) == []
    learned(state, "/c", "use pnpm.", at=9.0)
    (offer,) = find_offers(state, (), identify, LineDecisions())
    assert offer.line == "use pnpm." and offer.roots == (Path("/a"), Path("/b"), Path("/c"))
    assert find_offers(state, ["Use pnpm"], identify, LineDecisions()) == []
    forgotten = make_drop(9.0, Path("/a"), "id", "LEARNED.md", "Use pnpm", ())
    assert find_offers(state, (), identify, LineDecisions([forgotten])) == []
    learned(state, "/a", removed=("Use pnpm",))
    assert find_offers(state, (), identify, LineDecisions()) == []


def three_projects(bench: Bench) -> list[Project]:
    places = [bench.project, bench.new_project("two"), bench.new_project("three")]
    bench.answer((EXTRACTION, PNPM), (SYNTHESIS, lines(PNPM)))
    for number, place in enumerate(places):
        bench.see(place, session=f"z{number}")
        bench.type("use pnpm, never npm", session=f"s{number}", project=place)
        bench.end(f"s{number}", project=place)
    return places


def test_it_is_shown_and_taken_with_one_command(bench: Bench) -> None:
    """Through the handler: in `status`, and as a rule for the file that each session loads; deleted there, it stays away."""
    three_projects(bench)
    assert bench.status["offers"] == 1
    assert any("`tacitd adopt`" in line for line in bench.status["says"])
    (offer,) = list_open_offers(bench.state)
    assert offer.line == PNPM and len(offer.roots) == 3
    clock = FakeClock()
    rules = LearnedRules({"TACITD_STATE_DIR": str(bench.state), "HOME": str(bench.box)}, clock)
    assert rules.list_rules() == [] and rules.list_files() == [bench.home / "adopted.jsonl"]
    AdoptedRules(bench.home).add(PNPM, take=True, at=clock.now())
    (rule,) = rules.list_rules()
    assert rule.text == PNPM and rule.by_person and bench.status["offers"] == 0
    rules.withdraw_rule("something else")
    rules.withdraw_rule(rule.id)
    assert rules.list_rules() == [] and list_open_offers(bench.state) == []
    (bench.home / "adopted.jsonl").write_text('[]\nnonsense\n{"line":1,"choice":"take"}\n')
    assert bench.status["offers"] == 1, "foreign records are skipped"


def test_the_command(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tacitd adopt`: lists, takes one, and explains what does not fit."""
    three_projects(bench)
    cli = Cli(tmp_path, monkeypatch, capsys)
    cli.set(TACITD_STATE_DIR=str(bench.state))
    assert PNPM in cli.run("adopt").out and str(bench.root) in cli.run("adopt", "--json").out
    assert cli.run("adopt", "--json").json[0]["id"] == make_offer_id(PNPM)
    for wrong in (("adopt", "basalt"), ("adopt", "--drop")):
        assert cli.run(*wrong).code == 2
    assert f"a rule for all projects now: {PNPM}" in cli.run("adopt", "PNPM").err
    assert cli.run("adopt").out == "" and cli.run("adopt", "pnpm").code == 2
    assert identify_project(bench.root).key == str(bench.root)


def the_offer(bench: Bench) -> StoredItem:
    (found,) = list_person_items(bench)
    return found


def test_an_offer_is_reviewed_and_accepted(bench: Bench) -> None:
    """It belongs to the person, whatever the project; `keep` makes it a rule, and it is not asked about again."""
    three_projects(bench)
    item = the_offer(bench)
    assert (item.kind, item.text, item.state, item.root) == ("rule offer", PNPM, "proposed", None)
    assert item.review.startswith("it was learned in 3 projects: ") and str(bench.root) in item.review
    done = decide(bench, item, "keep")
    assert "every session" in done.what and done.texts == ()
    assert AdoptedRules(bench.home).read_choices() == {PNPM: True}
    rule = the_offer(bench)
    assert (rule.id, rule.kind, rule.state, rule.review) == (item.id, "rule", "stored", "")
    assert bench.status["offers"] == 0 and bench.bullets == [PNPM]
    assert decide(bench, rule, "keep").what == "it stays"
    assert "withdrawn" in decide(bench, rule, "drop").what
    assert AdoptedRules(bench.home).read_choices() == {PNPM: False} and bench.status["offers"] == 0


def test_a_purged_rule_is_no_rule(bench: Bench) -> None:
    """Its words are gone from the log, so neither the rules file nor a list may have what is left of it."""
    adopted = AdoptedRules(bench.home)
    adopted.add(PNPM, take=True, at=1.0)
    adopted.add(SHORT, take=False, at=2.0)
    purge_texts(bench.state, [PNPM, SHORT])
    assert adopted.read_choices() == {} and list_person_items(bench) == []


def test_an_offer_is_accepted_in_other_words(bench: Bench) -> None:
    """The person's words are the rule; the line is not offered again."""
    three_projects(bench)
    item = the_offer(bench)
    with pytest.raises(UsageError, match="empty"):
        decide(bench, item, "edit", " - ")
    decide(bench, item, "edit", "- Use pnpm 9 everywhere")
    assert AdoptedRules(bench.home).read_choices() == {PNPM: False, "Use pnpm 9 everywhere": True}
    assert bench.status["offers"] == 0
    rule = next(one for one in list_person_items(bench) if one.state == "stored")
    decide(bench, rule, "edit", "Use pnpm 10 everywhere")
    taken = {line for line, is_taken in AdoptedRules(bench.home).read_choices().items() if is_taken}
    assert taken == {"Use pnpm 10 everywhere"}


def test_an_offer_is_declined_for_good_and_can_be_offered_again(bench: Bench) -> None:
    """Neither a restart nor a fourth project brings it back; `restore` does. The lines of the projects stay."""
    three_projects(bench)
    item = the_offer(bench)
    done = decide(bench, item, "drop")
    assert "not offered again" in done.what and done.texts == (), "its words are those of the projects' lines"
    bench.restart()
    fourth = bench.new_project("four")
    bench.see(fourth, session="z4")
    bench.type("use pnpm, never npm", session="s4", project=fourth)
    bench.end("s4", project=fourth)
    assert bench.status["offers"] == 0 and bench.bullets == [PNPM]
    declined = the_offer(bench)
    assert (declined.id, declined.state, declined.review) == (item.id, "forgotten", "")
    assert "already" in decide(bench, declined, "drop").what
    for choice in ("keep", "edit"):
        with pytest.raises(UsageError, match="does not apply"):
            decide(bench, declined, choice, "x")
    assert "offered again" in decide(bench, declined, "restore").what
    assert the_offer(bench).state == "proposed" and bench.status["offers"] == 1
    with pytest.raises(UsageError, match="no rule"):
        decide_line(bench.handler, bench.tools(), Decision("00000000", "drop"))
