"""What `status` shows of learning: counts, silence, projects, confidence; and that it survives a restart."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from loguru import logger

from support_learning import EXTRACTION, MORNING, PNPM, SYNTHESIS, Bench, lines
from support_waiting import PATIENCE
from tacitd.clock import local_minutes
from tacitd.events import Due, Project, SessionEnded, SessionStarted
from tacitd.handler import Commit, Done
from tacitd_handlers.learning import make_plugin as entry_point
from tacitd_handlers.learning.inventory import Inventory, list_learned, list_withheld, state_of

DAY = 86_400.0


def test_counts_of_today_and_in_all(bench: Bench) -> None:
    """Prompts seen, prompts put to the model, facts and lines; kept over a restart and midnight."""
    bench.learn()
    bench.clock.advance(2 * DAY)
    bench.answer((EXTRACTION, "NONE"))
    bench.type("fix the login page")
    bench.restart()
    assert bench.status["today"] == {"seen": 1, "asked": 1, "facts": 0, "lines": 0}
    assert bench.status["total"] == {"seen": 2, "asked": 2, "facts": 1, "lines": 1}


def test_fifty_prompts_without_a_fact_are_said_until_there_is_one(bench: Bench) -> None:
    """A long silence is a degradation, because it may be a fault; also after a restart."""
    bench.answer((EXTRACTION, "NONE"))
    for _ in range(4):
        bench.type(*(f"word {n}" for n in range(10)))
    bench.type(*(f"word {n}" for n in range(9)))
    assert "learning.silent" not in bench.degraded
    bench.type("one more")
    assert "50 prompts" in bench.degraded["learning.silent"].what
    bench.restart()
    assert "learning.silent" in bench.degraded
    bench.answer((EXTRACTION, PNPM))
    bench.type("use pnpm, not npm")
    assert "learning.silent" not in bench.degraded


def test_a_fact_that_is_known_already_is_no_silence(bench: Bench) -> None:
    """A repeated fact ends the silence."""
    bench.put("LEARNED.md", f"- {PNPM}\n")
    for _ in range(60):
        bench.type("use pnpm, not npm")
    assert bench.status["total"]["facts"] == 0 and "learning.silent" not in bench.degraded


def test_each_repository_is_named_when_something_is_written_there_first(bench: Bench) -> None:
    """A project in which something is written for the first time is named in one log line, once, and in `status` from then
    on.
    """
    bench.clock.wall = MORNING
    said: list[str] = []
    sink = logger.add(lambda message: said.append(str(message)), level="INFO", format="{message}")
    try:
        bench.type("use pnpm, not npm")
        bench.type("short answers")
        bench.end()
        bench.restart()
        bench.type("tabs")
    finally:
        logger.remove(sink)
    assert [text for text in said if str(bench.root) in text and "writes in" in text] == [
        f"tacitd writes in {bench.root} from now on; `tacitd exclude` stops that\n"
    ]
    assert bench.status["projects"] == {str(bench.root): "2026-11-20T04:30:00Z"}
    local = local_minutes(MORNING).replace("T", " ")
    assert f"writes in {bench.root} since {local}" in bench.status["says"]


def test_a_project_that_was_only_looked_at_is_not_named(bench: Bench) -> None:
    """A project in which nothing was written is not named."""
    bench.modes[bench.root] = "off"
    bench.type("use pnpm, not npm")
    assert bench.status["projects"] == {}


def test_status_is_json_and_says_itself(bench: Bench) -> None:
    """docs/socket.md: `says` has lines to be read by the user."""
    bench.type("use pnpm, not npm")
    says = bench.status["says"]
    assert says[0] == "today: 1 prompt seen, 1 put to the model, 1 fact, 0 lines written"
    assert not [text for text in says if "wait" in text], "the document's own `waits` says it, with the time"


def test_one_commit_that_is_not_understood_stops_no_start(bench: Bench) -> None:
    """A commit that cannot be read, such as a newer version's, is skipped."""
    bench.learn()
    for data in (
        {"kind": "batch"},
        {"kind": "synthesis", "project": 5},
        {"kind": "new", "x": 1},
        {"seen": "x"},
        {"kind": "batch", "id": "b", "project": "/p", "prompts": ["u"], "folders": [], "new": [{}]},
        {"kind": "batch", "id": "c", "project": "/p", "prompts": ["u"], "folders": [], "new": [["x"]]},
    ):
        bench.log.append(data, "Due", at=1.0)
    bench.restart()
    assert not state_of(bench.state).waiting.get(Path("/p"))
    assert bench.status["total"]["lines"] == 1
    assert state_of(bench.state).total["lines"] == 1


def test_a_plan_of_nothing_in_a_fresh_project_can_be_folded(bench: Bench) -> None:
    """SPEC S-29: a synthesis that wrote no line is restored from its commit at the next start."""
    bench.answer((SYNTHESIS, "NONE"), (EXTRACTION, PNPM))
    bench.learn()
    bench.restart()
    assert bench.status["total"] == {"seen": 1, "asked": 1, "facts": 1, "lines": 0}


# --- confidence of a line -----------------------------------------------------------------------------------


def test_a_line_that_is_said_again_counts_for_more(bench: Bench) -> None:
    """SPEC S-54, P-11 to P-13: first seen, last seen, count and confidence; from extraction and from synthesis."""
    bench.learn()
    first = bench.clock.now()
    bench.clock.advance(30 * DAY)
    bench.type("pnpm please")
    bench.clock.advance(5.0)
    bench.put("tmp/learning-raw.jsonl", f'{{"facts": ["{PNPM}"]}}\n')
    bench.due("synthesize", bench.project)
    standing = state_of(bench.state).line_confidences[bench.root][PNPM]
    assert (standing.first_seen, standing.last_seen) == (first, bench.clock.now())
    assert standing.seen_count == 3 and standing.confidence == 1.0


def test_a_line_fades_by_half_in_thirty_days(bench: Bench) -> None:
    """SPEC P-13: one repetition after thirty days gives 0.5 + 0.3."""
    bench.learn()
    bench.clock.advance(30 * DAY)
    bench.type("pnpm please")
    assert state_of(bench.state).line_confidences[bench.root][PNPM].confidence == pytest.approx(0.8)


def test_an_updated_line_goes_on_from_the_old_one(bench: Bench) -> None:
    """SPEC S-26, S-54."""
    bench.learn()
    update = f"FILE: LEARNED.md\nFACT: Use bun, never npm\nREPLACES: {PNPM}"
    bench.answer((SYNTHESIS, update), (EXTRACTION, "Use bun, never npm"))
    bench.learn("use bun, never npm", session="s2")
    standings = state_of(bench.state).line_confidences[bench.root]
    assert list(standings) == ["Use bun, never npm"]
    assert standings["Use bun, never npm"].seen_count == 2


def test_a_persons_own_line_has_no_standing(bench: Bench) -> None:
    """SPEC S-54: every learned line has a confidence."""
    bench.put("LEARNED.md", f"- {PNPM}\n")
    bench.learn()
    assert state_of(bench.state).line_confidences.get(bench.root, {}) == {}


def test_the_inventory_tells_all_of_it(bench: Bench) -> None:
    """SPEC S-54, S-55: `learned --json`, with the number of projects in which the line was learned."""
    bench.clock.wall = MORNING
    other = bench.new_project("other")
    bench.learn()
    bench.answer((SYNTHESIS, lines("use `pnpm`, never npm")), (EXTRACTION, PNPM))
    bench.type("pnpm, never npm", session="s2", project=other)
    bench.end("s2", other)
    inventory = Inventory(bench.state)
    (entry,) = inventory.list_lines(bench.root)
    data = entry.as_data(inventory.count_projects(entry.line))
    assert {
        k: data[k] for k in ("file", "heading", "line", "sessions", "prompts", "seenCount", "projects")
    } == {
        "file": "LEARNED.md",
        "heading": "Coding",
        "line": PNPM,
        "sessions": ["s1"],
        "prompts": ["u1"],
        "seenCount": 1,
        "projects": 2,
    }
    assert data["at"] == data["firstSeen"] == data["lastSeen"] == "2026-11-20T04:30:00Z"


def test_the_inventory_is_empty_where_nothing_was_learned(bench: Bench) -> None:
    """It works without any state."""
    assert (
        list_learned(bench.root, bench.box / "nowhere") == []
        and list_withheld(bench.root, bench.box / "no") == {}
    )


# --- the handler --------------------------------------------------------------------------------------------


def test_events_that_say_nothing_are_done(bench: Bench) -> None:
    """DESIGN "Handlers and events": every event has an outcome."""
    place = bench.project_of("/gone/for/ever")
    path = bench.box / "s.jsonl"
    assert bench.play(SessionStarted("s", path, bench.project, 0.0)) == Done()
    assert bench.play(SessionStarted("s", path, place, 0.0)) == Done()
    assert bench.play(SessionEnded("s", path, place, 0.0, "idle")) == Done()
    assert bench.play(SessionEnded("s", path, bench.project, 0.0, "gone")) == Done()
    assert bench.play(Due("unknown")) == Done()


def test_sources_are_what_the_summary_is_made_of_and_where_head_moves(bench: Bench) -> None:
    """SPEC S-40, S-28."""
    bench.directives = [bench.box / "coding.md"]
    bench.restart()
    names = [path.name for path in bench.handler.sources(bench.project)]
    mirrors = ["tacitd-learned.md", "AGENTS.md", "worktrees"]
    assert names == ["coding.md", "AGENTS.md", "LEARNED.md", *mirrors, "HEAD"]
    assert len(bench.handler.sources(Project(bench.root / "x", False))) == 5


def test_the_entry_point_offers_the_slice() -> None:
    """DESIGN "Plugins": the handler is found by its entry point."""
    made = entry_point()
    assert made.name == "learning" and set(made.settings) == {"extraction", "learning", "reach"}
    assert {job.name: job.every for job in made.jobs}["recover"] == 600.0 and made.uses_model


def test_status_may_be_asked_while_others_commit(bench: Bench) -> None:
    """DESIGN "Handlers and events": `status` is called from another thread, and two projects have two workers."""
    wrong: list[Exception] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            try:
                bench.handler.status()
            except Exception as error:  # noqa: BLE001  it is shown below
                wrong.append(error)

    def commit(number: int) -> None:
        for n in range(100):
            root = f"/p{number}/{n}"
            data = {"kind": "batch", "id": f"{number}.{n}", "project": root, "prompts": [], "new": ["x"]}
            made = Commit(1.0, "TranscriptGrew", "", "", 0, data | {"folders": [], "asked": 1})
            bench.handler.committed(made, bench.tools())

    looking = threading.Thread(target=look)
    workers = [threading.Thread(target=commit, args=(number,)) for number in range(2)]
    for one in (looking, *workers):
        one.start()
    for one in workers:
        one.join()
    stop.set()
    looking.join()
    assert wrong == [] and len(bench.status["facts_waiting"]) == 200


def test_two_projects_may_be_busy_at_once(bench: Bench) -> None:
    """DESIGN "Dispatch": two workers, one handler."""
    places = [bench.new_project(f"p{n}") for n in range(4)]
    both = threading.Barrier(2, timeout=PATIENCE)

    def say(ask: object) -> str:
        both.wait()
        return lines(PNPM)

    for place in places:
        bench.type("use pnpm, not npm", session=place.root.name, project=place)
    bench.answer((SYNTHESIS, say))
    lock = threading.Lock()

    def end(place: Project) -> None:
        event = SessionEnded(place.root.name, bench.box / "s.jsonl", place, 0.0, "idle")
        outcome = bench.handler.handle(event, bench.tools())
        assert isinstance(outcome, Done)
        with lock:
            bench.commit(event, outcome)

    for pair in (places[:2], places[2:]):
        workers = [threading.Thread(target=end, args=(place,)) for place in pair]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
    assert all((p.root / "LEARNED.md").read_text().count("- ") == 1 for p in places)
