"""What it does in a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from reminders.hooks import HEADING, LIST, NAME
from tacitd.contract import Cause, Done, Edits, FileChange, Later, Outcome, Part, Task, Tools, Tx
from tacitd.errors import UsageError
from tacitd.events import Project
from tacitd.files.formats import bullet, split_bullet
from tacitd.handler import Degradation, Notice
from tacitd.model.port import Answer, ModelRequest
from tacitd.work.messages import send_message


def run(task: Task, tools: Tools) -> Outcome:
    match task.kind:
        case "prompts":
            return _take_prompts(task, tools)
        case "command":
            if not task.data["text"]:
                raise UsageError("the text is empty")
            return _put(
                task, tools, [str(task.data["text"])], Cause(f"{task.key} {tools.clock.now()}", "person")
            )
        case "job" if task.key == "tidy":
            tools.clear("reminders.many")
            return Done(_note("job", task.key))
        case "message":
            return Done(_note("message", str(task.data)))
        case _:
            return Done(_note(task.kind, task.session or task.key))


def _take_prompts(task: Task, tools: Tools) -> Outcome:
    words = "\n".join(prompt.text for prompt in task.prompts)
    parts = [Part("prompt", n, str(prompt.number), prompt.text) for n, prompt in enumerate(task.prompts, 1)]
    tone = " ".join(tools.list_prompt_parts("reminders:ask"))
    answer = tools.ask(
        ModelRequest(f"{tone} What is to be remembered?\n{words}", "fast", purpose="reminders"), parts
    )
    if not isinstance(answer, Answer):
        return Later(
            answer.reason, answer.hint, answer.retry_at, "work" if answer.blames_the_prompt else "world"
        )
    lines = [line for line in answer.text.splitlines() if line and line != "NONE"]
    if len(lines) > 5:
        tools.degrade(Degradation("reminders.many", "more reminders than anybody reads", "drop some"))
    numbers = [prompt.number for prompt in task.prompts]
    cause = Cause(f"prompts {numbers}", "prompt", session=task.session, prompts=numbers)
    return _put(task, tools, lines, cause, words)


def _put(task: Task, tools: Tools, lines: Sequence[str], cause: Cause, words: str = "") -> Done:
    assert isinstance(task.project, Project)
    stored = tools.rows("SELECT text, state FROM reminders_line WHERE project = ?", task.project_number)
    known: dict[str, str] = dict(stored)
    new = [line for line in lines if known.get(line) != "dropped"]

    def apply(tx: Tx) -> None:
        tx.executemany(
            "INSERT OR IGNORE INTO reminders_line(project, text, state, words) VALUES(?, ?, 'open', ?)",
            [(task.project_number, line, words) for line in new],
        )
        send_message(tx, "reminders", "reminders", task.key, task, {"lines": len(new)}, tools.clock.now())

    change = FileChange(
        task.project.root / NAME,
        LIST,
        lambda now, edits: {bullet(HEADING, line): line for line in new},
        cause,
    )
    notices = tuple(Notice("learned", line, f"{task.project.root.name}/{NAME}") for line in new)
    return Done(apply, (change,), notices=notices)


def take_edits(path: Path, edits: Edits, tools: Tools) -> Done:
    """A removed line is never reminded of again; a new one is the person's own."""
    ((project,),) = tools.rows("SELECT number FROM project WHERE root = ?", str(path.parent))
    gone = [split_bullet(leaf)[1] for leaf in (*edits.removed, *edits.changed)]
    own = [*edits.added.values(), *(value for _, value in edits.changed.values())]

    def apply(tx: Tx) -> None:
        for text in gone:
            tx.execute(
                "UPDATE reminders_line SET state = 'dropped' WHERE project = ? AND text = ?", project, text
            )
        for text in own:
            tx.execute(
                "INSERT INTO reminders_line(project, text, state) VALUES(?, ?, 'theirs') "
                "ON CONFLICT(project, text) DO UPDATE SET state = 'theirs'",
                project,
                text,
            )
        tx.execute("INSERT INTO reminders_event VALUES('edits', ?)", f"+{len(own)} -{len(gone)}")

    return Done(apply)


def _note(kind: str, about: str) -> Callable[[Tx], None]:
    def apply(tx: Tx) -> None:
        tx.execute("INSERT INTO reminders_event VALUES(?, ?)", kind, about)

    return apply
