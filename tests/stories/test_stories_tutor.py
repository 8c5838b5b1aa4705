"""A session of the tutor on one node of a graph (SPEC T, seed 002)."""

from __future__ import annotations

from typing import Any

from support_tutor import CLIENT_ANSWERS, COURSE, TYPED
from support_world import Begin
from tacitd.testing import World

ANSWERS = tuple(CLIENT_ANSWERS.items())
GRADER = "rigorous grader"


def lead(world: World, *typed: str, command: tuple[str, ...] = ("start", "two")) -> str:
    """What a person sees who answers with these lines."""
    return world.run("tutor", *command, given="".join(f"{one}\n" for one in typed)).out


def begin_course(world: World) -> World:
    """Write the graph into the project."""
    return world.write("tutor/course.yaml", COURSE)


def get_node(world: World, name: str = "two") -> dict[str, Any]:
    """What `tutor map` says of a node."""
    (row,) = [one for one in world.run("tutor", "map", "--json").json if one["node"] == name]
    return dict(row)


def test_a_whole_session(begin: Begin) -> None:
    """T-08 to T-20, T-03: quiz, two objectives, test, scores, the weakest one; the node's mean is 0.75, so it is mastered."""
    with begin(answers=ANSWERS) as world:
        out = lead(begin_course(world), *TYPED)
        assert "- 0.90 Name the first thing" in out and "Weakest: Name the second thing" in out
        assert (get_node(world)["mean"], get_node(world)["mastered"]) == (0.75, True)


def test_the_summary_instead_of_the_quiz(begin: Begin) -> None:
    """T-09: the learner who chooses the summary gets a recap, and no questions before the main part."""
    with begin(answers=ANSWERS) as world:
        out = lead(begin_course(world), "summary", *TYPED[2:])
        assert "The base is the base." in out and "0.90 Name the first thing" in out
        assert not any("You create prerequisite checks" in one for one in world.prompts)


def test_a_node_without_prerequisites_asks_nothing_first(begin: Begin) -> None:
    """T-08: without prerequisites the question for summary or quiz is skipped."""
    with begin(answers=ANSWERS) as world:
        out = lead(begin_course(world), "nothing", command=("start", "one"))
        assert "summary" not in out.lower() and "What do you know?" in out


def test_skipping_the_prerequisites(begin: Begin) -> None:
    """T-10, T-15: `skip` goes to the main part; what was not reviewed is not tested."""
    with begin(answers=ANSWERS) as world:
        lead(begin_course(world), "skip", *TYPED[2:])
        tests = [one for one in world.prompts if "end-of-session test" in one]
        assert len(tests) == 1
        reviewed = tests[0].split("Prereqs actually reviewed:")[1].split("- Default plan")[0]
        assert "Know the base" not in reviewed


def test_the_grader_sees_the_final_test_alone(begin: Begin) -> None:
    """T-14: no answer of a micro-quiz and no probe is in the grader's prompt."""
    with begin(answers=ANSWERS) as world:
        lead(begin_course(world), *TYPED)
        graded = [one for one in world.prompts if GRADER in one]
        assert len(graded) == 1 and "Say it shortly." in graded[0]
        assert "still nothing" not in graded[0] and "What do you know?" not in graded[0]


def test_the_key_is_not_shown(begin: Begin) -> None:
    """T-19: a choice can be given as its letter, and no prompt or screen names the right one before the answer."""
    secret = {
        **CLIENT_ANSWERS,
        "You create micro-quizzes": '{"questions": [{"q": "Why?", "type": "free", "answer": "the-secret-key"}]}',
    }
    with begin(answers=tuple(secret.items())) as world:
        out = lead(begin_course(world), "skip", "nothing", "because", "nothing", "because", "b", "so")
        assert "Why?" in out and "the-secret-key" not in out


def test_a_session_goes_on_where_it_was_left(begin: Begin) -> None:
    """T-21, T-24: the end of the input saves and leaves, also over a kill of the daemon; `resume` asks the same question."""
    with begin(answers=ANSWERS) as world:
        assert "The session is saved" in lead(begin_course(world), *TYPED[:3])
        assert world.run("tutor", "start", "two").code == 2
        world.restart(kill=True)
        assert "0.90 Name the first thing" in lead(world, *TYPED[3:], command=("resume",))


def test_end_at_any_moment(begin: Begin) -> None:
    """T-21, T-04: `/end` after one objective tests that one alone; what is not answered is blank; the other one counts as 0."""
    question = '{"q": "Which is right?", "type": "mcq", "choices": ["left", "right"], "answer": "B", "objective_ids": ["first"]}'
    short = {
        **CLIENT_ANSWERS,
        "end-of-session test": f'{{"questions": [{question}]}}',
        GRADER: '{"objective_scores": [{"id": "first", "score": 0.9}]}',
    }
    with begin(answers=tuple(short.items())) as world:
        out = lead(begin_course(world), "skip", "nothing", "b", "/end", "/end")
        assert "[final test 1/1]" in out and "0.90 Name the first thing" in out
        graded = [one for one in world.prompts if GRADER in one]
        assert len(graded) == 1 and "Name the second thing" not in graded[0]
        assert (get_node(world)["mean"], get_node(world)["mastered"]) == (0.45, False)


def test_a_failed_grader_gives_no_scores(begin: Begin) -> None:
    """T-17: an unusable answer of the grader leaves the session ungraded and mastery as it is; `grade` tries again."""
    with begin(answers=ANSWERS) as world:
        world.model.rules = [(GRADER, "sorry"), *world.model.rules]
        lead(begin_course(world), *TYPED)
        assert not get_node(world)["mastered"]
        world.answer_calls()
        assert world.run("tutor", "grade").code == 0
        assert get_node(world)["mean"] == 0.75


def test_a_model_that_does_not_answer(begin: Begin) -> None:
    """T-24: the session is saved with one sentence and exit code 75, and goes on when the model answers."""
    with begin(answers=ANSWERS) as world:
        begin_course(world)
        lead(world, "skip")
        world.fail_calls("not logged in", "run /login")
        ran = world.run("tutor", "resume", given="nothing\n")
        assert ran.code == 75 and "not logged in" in ran.out
        world.answer_calls()
        out = lead(world, *TYPED[3:], command=("resume",))
        assert "0.90 Name the first thing" in out


def test_a_graph_with_a_cycle_is_refused(begin: Begin) -> None:
    """T-02: a cycle is named with its nodes, and no session begins."""
    graph = "nodes:\n  - {node_id: a, title: A, prerequisites: [b], objectives: [x]}\n  - {node_id: b, title: B, prerequisites: [a], objectives: [y]}\n"
    with begin(answers=ANSWERS) as world:
        world.write("tutor/course.yaml", graph)
        ran = world.run("tutor", "graph", "tutor/course.yaml")
        assert ran.code == 1 and "a -> b -> a" in ran.err
        assert world.run("tutor", "start", "a").code != 0 and world.prompts == []


def test_suggest_and_history(begin: Begin) -> None:
    """T-20: what was not learned is suggested, and the history has the session with its mean."""
    with begin(answers=ANSWERS) as world:
        begin_course(world)
        assert "course/one" in world.run("tutor", "suggest").out
        lead(world, *TYPED)
        (row,) = world.run("tutor", "history", "--json").json
        assert (row["outcome"], row["mean"]) == ("finished", 0.75)
