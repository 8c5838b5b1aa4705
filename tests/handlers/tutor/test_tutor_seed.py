"""The examples of seed 002, run through the program as they are written there, and compared byte for byte.

What section 4 shows as JSON is what the stand-in for the client answers. SPEC T-18: without the comment, the dots and the
Markdown escapes that are no JSON. The node has one objective, because the seed's questions name none.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_claude import StandIn, install_stand_in
from support_cli import Cli

pytestmark = [pytest.mark.scenario, pytest.mark.undated]
GRAPH = """\
level: {level}
references:
  - {id: rid, title: Book, where: shelf}
nodes:
  - node_id: before
    title: Before
    objectives: [{id: pre1, text: "{pre1}"}]
  - node_id: node
    title: "{node_title}"
    prerequisites: [before]
    objectives: [{id: obj1, text: "{obj1}"}]
    references_sections: [{rid: rid, loc: loc}]
""".replace("{level}", '"{level}"')
REPLY = """\
```json
{
  "eval": "%s",
  "feedback": "<why in ≤2 sentences>",
  "next": "<follow-up question, or 'Next objective'>"
}
```
"""
QUESTIONS = """\
```
{
"questions":[
{
"q": "...",
"type": "mcq",
"choices": ["A","B","C","D"],
"answer": "B"
}
]
}
```
"""
SCORES = """\
{
"objective_scores":[
{"id":"obj1", "score":0.83}
]
}
"""
ANSWERS = {
    "Rule 1, without the question": "This is {node_title}.",
    "You create prerequisite checks": QUESTIONS,
    "You create micro-quizzes": QUESTIONS,
    "end-of-session test": QUESTIONS,
    "rigorous grader": SCORES,
    "The learner chose the summary": "A concise recap.",
    "one short Socratic question": "Socratic probe?",
    "Judge the learner's answer": REPLY % "Partially-Correct",
    "explain the pieces": "An explanation.",
    "closing greeting": "Brief strengths, and the weakest objective.",
}
START = """\
{node_title}: 1 objectives, about half an hour. The tutor may spend $0.50 a day.
/end: end with the test   /skip: skip this   /refs: references   Ctrl-D: save and leave
This is {node_title}.

[prerequisites] {node_title}
Would you like a short summary of the prerequisites or a quiz on them? (summary, quiz, or skip)
>\x20
"""
LOOP = """\
[1/1] {obj1}
Socratic probe?
>\x20
**Partially-Correct.** <why in ≤2 sentences>

An explanation.

...
- A) A
- B) B
- C) C
- D) D
>\x20
**Correct.** The answer is B.

"""
TEST = """\
[final test 1/1]
...
- A) A
- B) B
- C) C
- D) D
>\x20
- 0.83 {obj1}

Mean of the tested objectives: 0.83. Weakest: {obj1}.

Brief strengths, and the weakest objective.

"""
CHECK = """\
...
- A) A
- B) B
- C) C
- D) D
>\x20
**Incorrect.** <why in ≤2 sentences>

"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    made = Cli(tmp_path, monkeypatch, capsys)
    (made.home / "app" / "tutor").mkdir(parents=True)
    (made.home / "app" / "tutor" / "seed.yaml").write_text(GRAPH)
    return made


@pytest.fixture
def claude(cli: Cli, tmp_path: Path) -> StandIn:
    made = install_stand_in(
        tmp_path / "bin", [{"match": match, "reply": reply} for match, reply in ANSWERS.items()]
    )
    cli.set(PATH=f"{made.directory}:/usr/bin:/bin", TACITD_BUDGET__CALLS_PER_MINUTE="1000")
    return made


def lead(cli: Cli, *answers: str) -> str:
    said = cli.run(
        "tutor", "start", "node", typed="".join(f"{one}\n" for one in answers), cwd=cli.home / "app"
    )
    assert said.code == 0, said
    return said.out


def list_agents(claude: StandIn) -> list[str]:
    """The words of each call's prompt by which the stand-in knew it, in order."""
    return [next(match for match in ANSWERS if match in call["stdin"]) for call in claude.calls()]


LOOP_CALLS = [
    *("one short Socratic question", "Judge the learner's answer", "explain the pieces"),
    "You create micro-quizzes",
]
TAIL_CALLS = ["end-of-session test", "rigorous grader", "closing greeting"]


def test_the_life_cycle_with_a_quiz(cli: Cli, claude: StandIn) -> None:
    """Seed 002, section 3: quiz on prerequisites with a correction, the main loop, test, grader, greeting; section 4: formats."""
    assert lead(cli, "Quiz", "C", "an idea", "B", "B") == START + CHECK + LOOP + TEST
    begin = ["Rule 1, without the question", "You create prerequisite checks", "Judge the learner's answer"]
    assert list_agents(claude) == begin + LOOP_CALLS + TAIL_CALLS
    (row,) = cli.run("tutor", "history", "--json").json
    assert row["scores"] == {"obj1": 0.83} and row["mean"] == 0.83
    mastered = [one["mastered"] for one in cli.run("tutor", "map", "--json", cwd=cli.home / "app").json[:2]]
    assert mastered == [False, True], "mastered when the average is 0.70 or more"


@pytest.mark.parametrize(("route", "recap"), [("Summary", "A concise recap.\n\n"), ("skip", "")])
def test_the_life_cycle_without_a_quiz(cli: Cli, claude: StandIn, route: str, recap: str) -> None:
    """Seed 002, sections 3 and 6: a concise recap, or straight to the main loop, and no question on the prerequisites."""
    assert lead(cli, route, "an idea", "B", "B") == START + recap + LOOP + TEST
    begin = ["Rule 1, without the question", *(["The learner chose the summary"] if recap else [])]
    assert list_agents(claude) == begin + LOOP_CALLS + TAIL_CALLS


def test_end_session_at_any_moment(cli: Cli, claude: StandIn) -> None:
    """Seed 002, section 3: final test, grader, greeting; nothing of them if nothing was taught (SPEC T-21)."""
    until_quiz = LOOP.partition("**Correct.**")[0]
    assert lead(cli, "skip", "an idea", "/end", "B") == START + until_quiz + TEST
    calls = len(claude.calls())
    app = cli.home / "app"
    (app / "tutor" / "other.yaml").write_text(GRAPH)
    said = cli.run("tutor", "start", "other/node", typed="/end\n", cwd=app)
    assert said.out == f"{START}Nothing was tested.\nNext: Before.\n\n" and len(claude.calls()) == calls + 1


RECORDS = r"""
{"event":"Spoke","text":"This is {node_title}."}
{"event":"Answered","text":"Quiz"}
{"event":"QuestionsMade","questions":[{"text":"...","kind":"mcq","choices":["A","B","C","D"],"answer":"B","objective_ids":["before/pre1"]}]}
{"event":"Answered","text":"C"}
{"event":"Judged","eval":"Incorrect","feedback":"<why in ≤2 sentences>","next":""}
{"event":"Spoke","text":"Socratic probe?"}
{"event":"Answered","text":"an idea"}
{"event":"Judged","eval":"Partially-Correct","feedback":"<why in ≤2 sentences>","next":""}
{"event":"Spoke","text":"An explanation."}
{"event":"QuestionsMade","questions":[{"text":"...","kind":"mcq","choices":["A","B","C","D"],"answer":"B","objective_ids":[]}]}
{"event":"Answered","text":"B"}
{"event":"Judged","eval":"Correct","feedback":"The answer is B.","next":""}
{"event":"QuestionsMade","questions":[{"text":"...","kind":"mcq","choices":["A","B","C","D"],"answer":"B","objective_ids":["obj1"]}]}
{"event":"Answered","text":"B"}
{"event":"Scored","scores":{"obj1":0.83}}
{"event":"Spoke","text":"Brief strengths, and the weakest objective."}
"""
"""The log of the session with a quiz, without its first record and without `v` and `at`."""


def test_the_records_of_a_session(cli: Cli, claude: StandIn) -> None:
    """SPEC T-24: the log of a session is the person's data, and keeps its form."""
    lead(cli, "Quiz", "C", "an idea", "B", "B")
    folder = cli.home / ".local/share/tacitd/tutor"
    assert {one.stat().st_mode & 0o777 for one in folder.rglob("*") if one.is_file()} == {0o600}
    assert [row["name"] for row in cli.run("spend", "--by", "project", "--json").json] == [
        str(cli.home / "app")
    ]
    (log,) = (folder / "sessions").glob("*.jsonl")
    lines = log.read_text().splitlines()
    started = json.loads(lines[0])
    assert list(started) == ["v", "at", "event", "plan"] and started["event"] == "started"
    bare = [line.replace(line[1 : line.index('"event"')], "", 1) for line in lines[1:]]
    assert "\n".join(bare) == RECORDS.strip()


PROMPTS = {
    "You create prerequisite checks": [
        *(
            "You create prerequisite checks.",
            "INPUT",
            "before/pre1: {pre1}",
            "Current node objectives:",
            "{obj1}",
            "TASK",
        ),
        "Choose the smallest set of questions (≤4) that best verify knowledge essential for the upcoming objectives.",
        *("Prefer MCQ; use free-text only if MCQ is impossible.", "Return JSON:", '"questions":'),
        *('"q": "..."', '"type": "mcq | free"', '"choices": ["A", "B", "C", "D"]', '"answer": "B"'),
    ],
    "end-of-session test": [
        *("Produce an end-of-session test.", "INPUT", "Objectives taught", "obj1: {obj1}"),
        *("Prereqs actually reviewed:", "- {pre1}", "Default plan: 3 MCQ, 2 short-answer, 1 paraphrase."),
        *("Adjust if a different mix is pedagogically better.", "OUTPUT"),
    ],
    "rigorous grader": [
        "You are a rigorous grader. Read the learner's answers to each test question and score each learning objective 0–1.",
        *("Ignore any formative micro-quiz data.", "obj1: {obj1}", "B) B", "objective_scores"),
        'A node is "mastered" when average ≥0.70',
    ],
    "closing greeting": [
        'You are "Ada", a concise, no-nonsense tutor.',
        *("CONTEXT", "Current node: {node_title}", "Learning objectives (teach these, nothing else):"),
        *("{obj1}", "Prerequisite objectives (assume partially known):", "{pre1}"),
        "Domain knowledge level (from project brief): {level}",
        *("References (use for grounding if helpful):", "rid: ", "RULES"),
        "1. Begin by introducing the node in ≤2 sentences, then ask: "
        '"Would you like a short summary of the prerequisites or a quiz on them?"',
        "2. When quizzing prerequisites, use the questions provided in the `prereq_questions` block.",
        "3. Teach objectives one at a time. After each: a. probe learner understanding, "
        "b. explain missing pieces (≤200 words), c. call `generate_micro_quiz`.",
        *('"eval": "Correct | Partially-Correct | Incorrect"', '"feedback": "<why in ≤2 sentences>"'),
        '"next": "<follow-up question, or \'Next objective\'>"',
        'Never add praise ("Great job!", "Absolutely right!") unless the learner explicitly asks for encouragement.',
        'When citing external facts, you MAY append "(see {rid})".',
        "STOP when the final test is finished and the grader's scores have been returned.",
    ],
}
"""By words of a prompt, the lines of the seed's skeleton, filled in, in their order."""


def test_the_prompts_that_are_sent(cli: Cli, claude: StandIn) -> None:
    """Seed 002, section 4: what the client gets is the skeleton, filled in; the grader gets the final test alone."""
    lead(cli, "Quiz", "C", "an idea", "B", "B")
    sent = {name: call["stdin"] for name, call in zip(list_agents(claude), claude.calls(), strict=True)}
    for name, lines in PROMPTS.items():
        rest = sent[name]
        for line in lines:
            before, found, rest = rest.partition(line)
            assert found, (name, line, before)
        assert "\\_" not in sent[name] and "\\[" not in sent[name], "SPEC T-18: no stray escapes"
    assert "an idea" not in sent["rigorous grader"] and "Socratic" not in sent["rigorous grader"]
