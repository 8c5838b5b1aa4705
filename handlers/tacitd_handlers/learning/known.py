"""What is known in a project: its lines, and the documents that apply there (SPEC S-06, S-40 to S-44).

The summary of it, with which a fact is told from what is known, is written to `tmp/known-facts-summary.md` for people to read:

    # Known facts

    ## Coding
    - Prefers functions over classes

It has at most 49 lines, the newest first, and no line is cut. The model is asked about a directive only when its text changed; its
answer is kept by the text's digest, so that directives that several projects share are paid for once. Without an answer, and for one
that is of no use, the document's own lines are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tacitd.contract import Done, Part, Task, Tools, Tx
from tacitd.errors import TacitdError, UsageError
from tacitd.events import Project
from tacitd.files.atomic import replace_file
from tacitd.handler import Notice
from tacitd.model.port import Answer, ModelRequest
from tacitd.text.hashes import sha256
from tacitd.text.redact import has_secret, redact_secrets
from tacitd.text.wording import shorten_line
from tacitd_handlers.learning.folders import GENERAL, GROUPS, TITLE
from tacitd_handlers.learning.learned_rows import queue_message
from tacitd_handlers.learning.prompt_templates import repeats_prompt, summary_prompt
from tacitd_handlers.learning.raw_file import RAW, SUMMARY
from tacitd_handlers.learning.sources import (
    Place,
    is_tracked_source,
    known_lines,
    list_paths,
    parse_statements,
    read_text,
    why_no_temporary,
    why_not_writable,
)
from tacitd_handlers.reach import hiding
from tacitd_handlers.reach.client_rules import AGENTS, LEARNED
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.model_text import FACT_LIMIT, split_sentences, strip_user
from tacitd_handlers.shared.places import leads_out
from tacitd_handlers.shared.problems import report_problem

HEAD = "# Known facts"
LINES_LIMIT = 49
"""Maximum number of lines of the summary, headings and blank lines included (SPEC S-41)."""
ANSWER_LIMIT = 32_768
"""Characters of an answer."""


class Known(NamedTuple):
    """What is known in a project now."""

    summary: str
    statements: tuple[str, ...]
    """All statements and sentences of the documents, with which facts are compared (SPEC S-06)."""
    is_stale: bool
    """Whether the model is to be asked about a directive (`update_summary`)."""


class Directive(NamedTuple):
    """A document of the person that applies in a project. Its text is not empty."""

    path: Path
    text: str

    @property
    def digest(self) -> str:
        """Of its text."""
        return sha256(self.text.encode("utf-8", "replace")).hexdigest()[:32]


def load_known(project: Project, tools: Tools) -> Known:
    """Read what is known, and write the summary if it is missing or differs (SPEC S-04). Asks nobody."""
    directives = list(read_directives(project, tools))
    _report_link(project, tools)
    texts = [read_text(path, project.root) for path in list_paths(tools.rows, os.environ, project.root)]
    texts += [read_text(path) for path in list_paths(tools.rows, os.environ, None)]
    distilled = dict[str, str](tools.rows("SELECT digest, text FROM learning_distilled"))
    lines = [line for text in texts for line in reversed(list_own(text))]  # new ones are at the end
    lines += [line for one in directives for line in list_own(distilled.get(one.digest) or one.text)]
    summary = build_summary(lines)
    _write_summary(project, summary, tools)
    statements = known_lines(*(one.text for one in directives), *texts, summary)
    return Known(summary, statements, any(one.digest not in distilled for one in directives))


def update_summary(task: Task, tools: Tools, *, again: bool = False) -> Done:
    """Ask the model about directives whose text changed, and write the summary: the message `summary`, which comes once more when
    there are answers. `again`: ask too where an answer was of no use."""
    project = task.project
    if not isinstance(project, Project) or tools.write_mode(project) == "off":
        return Done()
    where = " WHERE text <> ''" if again else ""
    found = _distil(project, tools, tools.rows(f"SELECT digest FROM learning_distilled{where}"))
    if not found:
        load_known(project, tools)
        return Done()

    def store(tx: Tx) -> None:
        now = tools.clock.now()
        tx.executemany(
            "INSERT OR REPLACE INTO learning_distilled(digest, text, at) VALUES(?, ?, ?)",
            [(digest, text, now) for digest, text in found.items()],
        )
        queue_message(tx, "summary", Place(task.project_number, project.root, project), now)

    return Done(store)


def init_project(task: Task, tools: Tools) -> Done:
    """`tacitd init`: make LEARNED.md with its title, because a person asked for it (S-42), and the summary. An answer that was of no
    use is asked for again. Raises UsageError in a project that is excluded or cannot be written, OSError."""
    project = task.project
    assert isinstance(project, Project)
    if tools.write_mode(project) == "off":
        what = f"{project.root} is excluded: nothing was written"
        raise UsageError(what, f"`tacitd exclude --undo {project.root}`")
    if refusal := why_not_writable(Place(task.project_number, project.root, project)):
        raise UsageError(f"{refusal[0]}: nothing was written", refusal[1])
    learned = project.root / LEARNED
    if not os.path.lexists(learned):
        hiding.hide(project, [learned], tools)
        with suppress(FileExistsError), learned.open("x", encoding="utf-8") as file:
            file.write(f"# {TITLE}\n")
    done = update_summary(task, tools, again=True)
    load_known(project, tools)
    notices = [Notice("initialised", f"{LEARNED} and its summary are there", project.root.name)]
    return Done(done.apply, notices=notices)


# --- directives


def read_directives(project: Project, tools: Tools) -> Iterator[Directive]:
    """The documents of all projects, then the project's AGENTS.md, as far as they have text. A link that leads out is not read."""
    for path in tools.directives:
        if (text := read_text(path)).strip():
            yield Directive(path, text)
    path = project.root / AGENTS
    if (text := read_text(path, project.root)).strip():
        yield Directive(path, text)


def _report_link(project: Project, tools: Tools) -> None:
    """Degrade while AGENTS.md is a link that leads out of the project: the person may have linked it on purpose."""
    path = project.root / AGENTS
    what = f"{path} is a link that leads out of the project: it is not read"
    hint = "replace it with a regular file, or name the file behind it in `directives`"
    is_out = path.is_symlink() and leads_out(path, project.root)
    report_problem(tools, f"learning.document:{project.root}", what if is_out else "", hint)


def _distil(project: Project, tools: Tools, known: Sequence[Sequence[str]]) -> dict[str, str]:
    """Ask about each directive that is not known. A model that does not answer is asked with the next prompts."""
    digests = {digest for (digest,) in known}
    found = dict[str, str]()
    for one in read_directives(project, tools):
        if one.digest in digests:
            continue
        text = redact_secrets(one.text)[0]
        request = ModelRequest(
            summary_prompt({one.path.name: text}), "smart", purpose="summary", project=str(project.root)
        )
        answer = tools.ask(request, [Part("file", 1, str(one.path), one.text)])
        if not isinstance(answer, Answer):
            break
        # A refusal has no list, and a copy of the prompt has that of its example (SPEC S-35).
        is_list = any(one.is_bullet for one in parse_statements(answer.text[: ANSWER_LIMIT + 1]))
        is_usable = (
            len(answer.text) <= ANSWER_LIMIT and is_list and not repeats_prompt("summary", answer.text)
        )
        found[one.digest] = answer.text if is_usable else ""
    return found


# --- the summary


def list_own(text: str) -> list[tuple[str, str]]:
    """Group and text of a document's list items; if it has none, of the sentences of its paragraphs."""
    statements = parse_statements(text)
    found = [(one.heading, one.text) for one in statements if one.is_bullet]
    found = found or [(one.heading, part) for one in statements for part in split_sentences(one.text)]
    groups = {name.casefold(): name for name in GROUPS}
    return [
        (next((name for key, name in groups.items() if key in heading.casefold()), GENERAL), text)
        for heading, text in found
    ]


def build_summary(lines: Iterable[tuple[str, str]]) -> str:
    """Render lines (group, text) by group, the first ones as far as there is room. Duplicates and lines with a secret are left out. Pure."""
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    seen, room = set[str](), LINES_LIMIT - 1
    for group, line in lines:
        text = shorten_line(strip_user(line), FACT_LIMIT)
        same, cost = normalise_text(text), 1 if groups[group] else 3  # a blank line and the heading
        if not same or same in seen or cost > room or has_secret(line) or has_secret(text):
            continue
        seen.add(same)
        room -= cost
        groups[group].append(text)
    blocks = [
        "\n".join([f"## {name}", *(f"- {text}" for text in texts)]) for name, texts in groups.items() if texts
    ]
    return "\n\n".join([HEAD, *blocks]) + "\n"


def _write_summary(project: Project, text: str, tools: Tools) -> None:
    """Write the summary, unless a file of that name is somebody else's. If it cannot be written, nothing depends on it."""
    path = project.root / SUMMARY
    before = read_text(path, project.root)
    if before == text or leads_out(path, project.root) or why_no_temporary(project.root):
        return
    is_theirs = path.exists() and not before.startswith(HEAD)
    if is_theirs or is_tracked_source(project, path):
        return
    with suppress(OSError, TacitdError):
        # A raw file that is made from now on did not come with the project.
        hiding.hide(project, [path, project.root / RAW], tools)
        hiding.hide_from_package(project.root, project.root, "tmp")
        path.parent.mkdir(exist_ok=True)
        replace_file(path, text.encode())
