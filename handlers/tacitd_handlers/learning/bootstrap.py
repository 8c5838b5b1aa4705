"""The known-facts summary: created if it is missing, regenerated if its sources changed (SPEC S-40 to S-44).

The model is asked only about directives whose text changed. Its answers are kept by a fingerprint of the text, so the
summary can be regenerated without a call, and directives that several projects share are paid for once. An unusable
answer is remembered too, because the same text would get the same answer. Without an answer, the documents' own lines
are used. Someone who edits AGENTS.md saves it many times, so at least ASK_INTERVAL passes between two calls about one
project.

The text of the summary is built in `summary`, the documents are read in `documents`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tacitd.events import Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.handler import Degradation, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning import prompt_templates, visibility
from tacitd_handlers.learning.documents import DirectiveGroup, KnownDocuments, read_documents
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.removals import find_written_lines
from tacitd_handlers.learning.safe_read import leads_out
from tacitd_handlers.learning.store import LEARNED, SUMMARY, ProjectPaths, text_of, write_summary
from tacitd_handlers.learning.summary import deterministic_summary, parse_summary_answer, summary_lines
from tacitd_handlers.shared.answer_screening import Unusable

By = Literal["model", "files"]
ASK_INTERVAL = 1800.0
"""Minimum seconds between two automatic calls about one project's directives, or about those of all projects."""


class SummaryResult(Struct, frozen=True):
    """How a summary was made."""

    by: By
    """`model`: at least one part is the model's answer. `files`: all lines are the documents' own."""
    changed: bool
    """Whether the summary's file changed."""
    no_answer: NoAnswer | None = None
    """Why the model did not answer, if it was asked and did not."""


class SummaryFocus(Struct, frozen=True):
    """What comes first in a project's summary (SPEC S-41)."""

    folders: tuple[str, ...] = ()
    """The folders that the newest session works in, relative to the project."""
    repeated: tuple[str, ...] = ()
    """Lines that were said more than once, the most often said first."""


class Bootstrap:
    """Makes summaries and remembers the model's answer for each group of directives.

    Thread-safe, because projects are handled in parallel. The answers are in `summaries.jsonl` in the handler's home:
    `{"fingerprint", "text"}` for an answer, `{"project", "uses"}` for the fingerprints that a project's summary is made of.
    """

    def __init__(self, home: Path, ownership: RawOwnership, disk: Disk | None = None) -> None:
        self._ownership = ownership
        self._log = Log(home / "summaries.jsonl", disk)
        self._lock = threading.Lock()
        self._distilled: dict[str, str] = {}
        """Answers by fingerprint; "" for an unusable answer."""
        self._used: dict[str, frozenset[str]] = {}
        """The fingerprints that a project's summary was made of, by the project's root."""
        self._asked: dict[str, float] = {}
        """Time of the last call by the project's root, "" for shared directives: seconds of the monotonic clock."""
        self._focus: dict[Path, SummaryFocus] = {}
        """What comes first in each project's summary."""
        for record in self._log.read():
            self._fold(record)

    def _fold(self, record: Mapping[str, Any]) -> None:
        if "fingerprint" in record:
            self._distilled[str(record["fingerprint"])] = str(record.get("text", ""))
        if isinstance(record.get("uses"), list):
            self._used[str(record.get("project", ""))] = frozenset(map(str, record["uses"]))

    def _note(self, record: Mapping[str, Any]) -> None:
        with self._lock:
            self._log.append(record)
            self._log.flush()
            self._fold(record)

    def set_focus(self, root: Path, focus: SummaryFocus) -> None:
        """Set what comes first in a project's summary from now on. It is not stored."""
        with self._lock:
            self._focus[root] = focus

    def ensure_summary(self, project: Project, tools: Tools) -> KnownDocuments:
        """Make the summary if it is missing or stale, and return what is known (SPEC S-04).

        Called before an extraction. Raises OSError and TacitdError.
        """
        files = ProjectPaths(project.root, tools.disk)
        documents = self.load_documents(project, tools)
        missing = not files.summary_file.is_file() or self._ownership.inspect_files(files).summary == "stale"
        # Trigger: folders' files have lines of ours. Why: nothing reports a change of those files, and lines of the folders
        # that the session works in come first. Outcome: the summary is made again, and written only if it differs.
        if missing or list_modules(project, tools) or self._is_stale(project, documents):
            self.refresh_summary(project, tools, ask=True)
            documents = self.load_documents(project, tools)
        hide_from_git(project, tools, visibility.list_temporary_patterns(project))
        return documents

    def load_documents(self, project: Project, tools: Tools) -> KnownDocuments:
        """Read what is known in the project now. Raises OSError and FileRefusedError.

        A summary that came with the repository is not used, because its lines were not learned here. The summary is then
        made from the documents, in memory.
        """
        files = ProjectPaths(project.root, tools.disk)
        _report_agents_link(files, tools)
        own = self._ownership.inspect_files(files).summary == "own"
        modules = list_modules(project, tools)
        documents = read_documents(files, tools.directives, summary=own, modules=modules)
        if own:
            return documents
        return replace(documents, summary=self._build_text(project, documents))

    def _build_text(self, project: Project, documents: KnownDocuments) -> str:
        focus = self._focus.get(project.root, SummaryFocus())
        return deterministic_summary(documents.build_sources(self._distilled, focus.folders), focus.repeated)

    def _is_stale(self, project: Project, documents: KnownDocuments) -> bool:
        """Whether the model was asked about this project's directives once and they have changed since."""
        used = self._used.get(str(project.root))
        return used is not None and bool(documents.parts) and used != documents.fingerprints

    def refresh_summary(
        self, project: Project, tools: Tools, *, ask: bool, at_once: bool = False
    ) -> SummaryResult:
        """Regenerate the summary. Raises OSError and TacitdError.

        `ask`: ask the model about directives whose text changed. `at_once`: ask even if ASK_INTERVAL has not passed or the
        last answer about the same text was unusable.
        """
        files = ProjectPaths(project.root, tools.disk)
        documents = read_documents(files, tools.directives, modules=list_modules(project, tools))
        no_answer: NoAnswer | None = None
        for part in documents.parts if ask else ():
            no_answer = self._ask_about(project, part, tools, at_once=at_once) or no_answer
        hide_from_git(project, tools, visibility.list_temporary_patterns(project))
        self._note_use(project, documents)
        changed = self._write(files, self._build_text(project, documents))
        known_text = any(self._distilled.get(one) for one in documents.fingerprints)
        return SummaryResult("model" if known_text else "files", changed, no_answer)

    def _write(self, files: ProjectPaths, text: str) -> bool:
        """Write the summary unless git tracks its file. Return whether it changed."""
        if self._ownership.inspect_files(files).summary == "closed":
            return False
        changed = write_summary(files, text)
        self._ownership.note_replaced(files, SUMMARY)
        return changed

    def _note_use(self, project: Project, documents: KnownDocuments) -> None:
        """Remember which directives the summary is made of, once the model was asked about all of them."""
        uses, name = documents.fingerprints, str(project.root)
        if uses and uses <= self._distilled.keys() and self._used.get(name) != uses:
            self._note({"project": name, "uses": sorted(uses)})

    def _ask_about(
        self, project: Project, part: DirectiveGroup, tools: Tools, *, at_once: bool
    ) -> NoAnswer | None:
        """Ask about one group of directives, unless its answer is known. Return why there is no answer, otherwise None."""
        known_text = self._distilled.get(part.fingerprint)
        if (
            known_text
            or (known_text == "" and not at_once)
            or not self._may_ask(project, part, tools, at_once)
        ):
            return None
        texts = {name: redact_secrets(text)[0] for name, text in part.texts}
        key = f"summary:{part.fingerprint}"
        answer = tools.model.ask(
            ModelRequest(
                prompt_templates.summary_prompt(texts),
                "smart",
                key,
                purpose="summary",
                project=str(project.root),
            )
        )
        if isinstance(answer, NoAnswer):
            return answer
        text = parse_summary_answer(answer.text, [text for _, text in part.texts])
        useless = isinstance(text, Unusable) or not summary_lines(text)
        # The documents are not empty, so an answer without lines is useless too: their own lines are used instead.
        self._note({"fingerprint": part.fingerprint, "text": "" if useless else text})
        return None

    def _may_ask(self, project: Project, part: DirectiveGroup, tools: Tools, at_once: bool) -> bool:
        """Whether a call is due; if so, its time is noted. Directives that all projects share have one common interval."""
        scope, now = str(project.root) if part.own else "", tools.clock.monotonic()
        with self._lock:
            asked = self._asked.get(scope)
            if not at_once and asked is not None and now - asked < ASK_INTERVAL:
                return False
            self._asked[scope] = now
            return True


def list_modules(project: Project, tools: Tools) -> list[str]:
    """The folders' AGENTS.md in which tacitd has lines, relative to the project, ordered by name. Raises OSError."""
    return sorted(name for name in find_written_lines(tools.history, project) if name != LEARNED)


def _report_agents_link(files: ProjectPaths, tools: Tools) -> None:
    """Degrade while AGENTS.md is a link that leads out of the project: the user may have linked it on purpose.

    For LEARNED.md the synthesis reports it.
    """
    id = f"learning.document:{files.root}"
    if not leads_out(files.agents_file, files.root):
        tools.clear(id)
        return
    what = f"{files.agents_file} is a link that leads out of the project: it is not read"
    hint = "replace it with a regular file, or name the file behind it in `directives`"
    tools.degrade(Degradation(id, what, hint))


def hide_from_git(project: Project, tools: Tools, patterns: Iterable[str]) -> None:
    """Add the missing patterns to this clone's `.git/info/exclude`, so that git ignores what is about to be written.

    Degrades while that file cannot be written. Raises OSError and TacitdError.
    """
    path = visibility.exclude_file(project)
    id = f"learning.exclude:{project.root}"
    if why := visibility.why_not_hidden(project):
        what = (
            f"{why}: nothing is written there, so git shows the files that tacitd creates in {project.root}"
        )
        tools.degrade(Degradation(id, what, "`git status` there lists them; add them to your own .gitignore"))
    else:
        tools.clear(id)
    missing = [p for p in patterns if path is not None and p not in text_of(path).splitlines()]
    if missing:
        cause = {"by": "learning", "what": "kept out of git"}
        key = f"exclude:{project.root}:{','.join(missing)}:{tools.clock.now()}"
        tools.history.run_transaction(
            project.root,
            visibility.build_excludes(project, missing),
            cause,
            key,
            also=visibility.list_writable_dirs(project),
        )
