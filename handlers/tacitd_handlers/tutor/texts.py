"""Texts of the tutor: the session's log as Markdown, the map of a graph, progress, results. Pure.

Answer keys are part of a session's log only when the session is over (SPEC T-19).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tacitd.clock import local_minutes
from tacitd_handlers.shared.prompt_filling import fence_text
from tacitd_handlers.tutor.choices import LETTERS, format_choice
from tacitd_handlers.tutor.knowledge_graph import KnowledgeGraph
from tacitd_handlers.tutor.mastery import THRESHOLD, MasteryBook, compute_mean, find_weakest, measure_node
from tacitd_handlers.tutor.session_model import (
    TAIL,
    Answered,
    Closed,
    Ended,
    GradingFailed,
    Judged,
    NotJudged,
    Question,
    QuestionsMade,
    ReplayedSession,
    Scored,
    SessionState,
    Skipped,
    Spoke,
    Step,
    TimedEvent,
)

HEADINGS = {
    Step.INTRODUCE: "Introduction",
    Step.SUMMARIZE: "Prerequisites",
    Step.PROBE: "Probe",
    Step.EXPLAIN: "Explanation",
    Step.EXPLAIN_AGAIN: "Extra explanation",
    Step.CLOSE: "Closing",
    Step.BUILD_CHECK: "Questions on the prerequisites",
    Step.BUILD_QUIZ: "Micro-quiz",
    Step.BUILD_TEST: "Final test",
}
"""By step, the heading of what the model made there."""
_ASKED = {Step.CHECK_ANSWER, Step.QUIZ_ANSWER, Step.TEST_ANSWER}
_BEFORE = {Step.INTRODUCE, Step.CHOOSE, Step.SUMMARIZE, Step.BUILD_CHECK, Step.CHECK_ANSWER, Step.JUDGE_CHECK}
"""The steps before the first objective."""


def format_question(question: Question, *, with_key: bool = False) -> str:
    """A question as Markdown, with its choices; the key only if the session is over."""
    lines = [question.text]
    lines += [f"- {letter}) {one}" for letter, one in zip(LETTERS, question.choices, strict=False)]
    if with_key and question.answer:
        lines.append(f"\nExpected: {format_choice(question, question.answer)}")
    return "\n".join(lines)


def format_progress(state: SessionState) -> str:
    """Where the session is, in one line: `[2/6] Name the four kinds of objects`."""
    plan, total = state.plan, len(state.questions)
    if state.step in TAIL:
        return f"[final test {min(state.asked + 1, total)}/{total}]" if total else "[final test]"
    if state.step in _BEFORE:
        return f"[prerequisites] {plan.title}"
    return f"[{state.at + 1}/{len(plan.objectives)}] {state.objective.text}"


def format_results(state: SessionState) -> list[str]:
    """Scores, mean and weakest objective as Markdown lines; why there are none otherwise."""
    if state.needs_grading:
        return [f"Not graded yet: {state.ungraded or 'the grader has not answered'}. Mastery is unchanged."]
    if state.scores is None:
        return ["Nothing was tested."]
    lines = [
        f"- {state.scores[one.id]:.2f} {one.text}" for one in state.plan.objectives if one.id in state.scores
    ]
    weakest = find_weakest(state.plan.objectives, state.scores)
    mean = compute_mean(list(state.scores.values()))
    lines.append(f"\nMean of the tested objectives: {mean:.2f}. Weakest: {weakest.text if weakest else '-'}.")
    return lines


def format_session_log(found: ReplayedSession) -> str:
    """A whole session as Markdown: every question, answer, score and reason."""
    plan, state = found.state.plan, found.state
    lines = [
        f"# {plan.title}",
        "",
        f"Session {plan.session}, started {local_minutes(found.started)} (local time).",
    ]
    lines += ["", "Objectives:", *(f"- {one.text}" for one in plan.objectives), ""]
    for event in found.events:
        lines += [*_format_event(event, is_over=not state.is_open), ""]
    if state.is_open:
        lines.append(f"The session is open: {format_progress(state)}")
    else:
        lines += ["## Result", "", f"{state.outcome or 'finished'}.", *format_results(state)]
    return "\n".join(lines).rstrip() + "\n"


def _format_event(timed: TimedEvent, *, is_over: bool) -> Iterator[str]:
    event, before = timed.event, timed.before
    match event:
        case Spoke(text):
            about = f": {before.objective.text}" if before.step in (Step.PROBE, Step.EXPLAIN) else ""
            yield f"## {HEADINGS.get(before.step, 'Tutor')}{about}\n\n{text}"
        case QuestionsMade(questions):
            yield f"## {HEADINGS.get(before.step, 'Questions')}\n"
            for number, one in enumerate(questions, 1):
                yield f"{number}. ({one.kind}) {format_question(one, with_key=is_over)}\n"
        case Answered(text):
            shown = format_choice(before.question, text) if before.step in _ASKED else text
            yield f"Learner ({local_minutes(timed.at)}){_name_question(before)}:\n\n{fence_text(shown)}"
        case Judged(verdict, feedback, following):
            yield f"Tutor: **{verdict}**. {feedback}{f' {following}' if following else ''}"
        case NotJudged(text):
            yield f"Tutor (not a judgement, the question is repeated): {text}"
        case Skipped():
            yield f"Learner: skipped{_name_question(before)}."
        case Ended():
            yield "Learner: ended the session."
        case Scored():
            yield f"Grader ({local_minutes(timed.at)}):"
            tested = [one for one in before.plan.objectives if one.id in event.scores]
            yield from (f"- {event.scores[one.id]:.2f} {one.text}" for one in tested)
        case GradingFailed(reason):
            yield f"Grading failed ({local_minutes(timed.at)}): {reason}"
        case Closed(outcome):
            yield f"The session was closed: {outcome}."
        case _:
            assert_never(event)


def _name_question(state: SessionState) -> str:
    return f", question {state.asked + 1}" if state.step in _ASKED else ""


def format_map(book: MasteryBook, key: str, graph: KnowledgeGraph) -> Iterator[str]:
    """The map of a graph, prerequisites first: `[x] objects  1.00  The object store  after: basics`."""
    measured = {node.id: measure_node(book, key, node) for node in graph.nodes}
    width = max(map(len, measured))
    for node in graph.nodes:
        one = measured[node.id]
        is_ready = all(measured[id].is_mastered for id in node.prerequisites)
        box = "[x]" if one.is_mastered else "[~]" if one.scores else "[ ]" if is_ready else "[-]"
        after = f"  after: {', '.join(node.prerequisites)}" if node.prerequisites else ""
        yield f"{box} {node.id:<{width}}  {f'{one.mean:.2f}' if one.scores else '  - '}  {node.title}{after}"
        low = min(one.scores.values(), default=1.0)
        if one.weakest is not None and low < 1.0:
            yield f"    {'':<{width}}        weakest: {one.weakest.text} ({low:.2f})"


LEGEND = (
    f"[x] mastered (mean {THRESHOLD:.2f} or more)  [~] begun  [ ] can be begun  [-] prerequisites are missing"
)
