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


def test_a_node_without_prerequisites_asks_nothing_first(begin: Begin) -> None:
    """T-08: without prerequisites the question for summary or quiz is skipped."""
    with begin(answers=ANSWERS) as world:
        out = lead(begin_course(world), "nothing", command=("start", "one"))
        assert "summary" not in out.lower() and "What do you know?" in out


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
        (graded,) = [one for one in world.prompts if GRADER in one]
        assert "Name the second thing" not in graded
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
        out = lead(world, *TYPED[2:], command=("resume",))
        assert "0.90 Name the first thing" in out


def test_suggest_and_history(begin: Begin) -> None:
    """T-20: what was not learned is suggested, and the history has the session with its mean."""
    with begin(answers=ANSWERS) as world:
        begin_course(world)
        assert "course/one" in world.run("tutor", "suggest").out
        lead(world, *TYPED)
        (row,) = world.run("tutor", "history", "--json").json
        assert (row["outcome"], row["mean"]) == ("finished", 0.75)
