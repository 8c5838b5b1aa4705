"""The known-facts summary: made when it is missing, made again when its sources changed (SPEC S-40 to S-44).

The model is asked only when a directive's text changed, and what it said is kept by what it was asked about, so that
the summary can be made again from the files for nothing, and directives that many projects share are paid for once. An
answer that cannot be used is remembered too: the same text would get the same. Where the model does not answer, the
documents' own lines do. A person who edits AGENTS.md for an afternoon saves it many times: between two questions about
one project half an hour passes, and in between the documents' own lines stand in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tacitd.events import Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.handler import Degradation, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning import prompt_templates, visibility
from tacitd_handlers.learning.documents import DirectiveGroup, KnownDocuments, read_documents
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.safe_read import leads_out
from tacitd_handlers.learning.store import SUMMARY, ProjectPaths, text_of, write_summary
from tacitd_handlers.learning.summary import deterministic_summary, parse_summary_answer, summary_lines
from tacitd_handlers.shared.answer_screening import Unusable

By = Literal["model", "files"]
ASK_INTERVAL = 1800.0
"""Seconds between two questions about one project, or about all, that no person asked for."""


@dataclass(frozen=True, slots=True)
class SummaryResult:
    """How a summary came to be, and why not better."""

    by: By
    changed: bool
    no_answer: NoAnswer | None = None


class Bootstrap:
    """Makes summaries. Remembers what the model made of each directive. Thread-safe: projects are handled side by side."""

    def __init__(self, home: Path, ownership: RawOwnership, disk: Disk | None = None) -> None:
        self._ownership = ownership
        self._log = Log(home / "summaries.jsonl", disk)
        self._lock = threading.Lock()
        self._distilled: dict[str, str] = {}
        """By fingerprint; "" where the answer could not be used."""
        self._used: dict[str, frozenset[str]] = {}
        """By project, the fingerprints that its summary was made of."""
        self._asked: dict[str, float] = {}
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

    def ensure_summary(self, project: Project, tools: Tools) -> KnownDocuments:
        """Before an extraction: make the summary if it is missing or its directives were not distilled yet, and return
        what is known (SPEC S-04). Raises OSError and TacitdError."""
        files = ProjectPaths(project.root, tools.disk)
        documents = self.load_documents(project, tools)
        missing = not files.summary_file.is_file() or self._ownership.inspect_files(files).summary == "stale"
        if missing or self._is_stale(project, documents):
            self.refresh_summary(project, tools, ask=True)
            documents = self.load_documents(project, tools)
        hide_from_git(project, tools, visibility.list_temporary_patterns(project))
        return documents

    def load_documents(self, project: Project, tools: Tools) -> KnownDocuments:
        """What is known in the project now. Raises OSError and FileRefusedError.

        A summary that came with the repository is not used, because what it lists is not learned. Its text is made again
        from the documents, in memory.
        """
        files = ProjectPaths(project.root, tools.disk)
        _report_agents_link(files, tools)
        own = self._ownership.inspect_files(files).summary == "own"
        documents = read_documents(files, tools.directives, summary=own)
        if own:
            return documents
        return replace(documents, summary=deterministic_summary(documents.build_sources(self._distilled)))

    def _is_stale(self, project: Project, documents: KnownDocuments) -> bool:
        """Whether the model made something of this project's directives once, and they are others now."""
        used = self._used.get(str(project.root))
        return used is not None and bool(documents.parts) and used != documents.fingerprints

    def refresh_summary(
        self, project: Project, tools: Tools, *, ask: bool, at_once: bool = False
    ) -> SummaryResult:
        """Make the summary anew; with `ask`, the model is asked where a directive's text changed, `at_once` also where it
        was asked a moment ago or could not say anything. Raises OSError and TacitdError."""
        files = ProjectPaths(project.root, tools.disk)
        documents = read_documents(files, tools.directives)
        waits: NoAnswer | None = None
        for part in documents.parts if ask else ():
            waits = self._ask_about(project, part, tools, at_once=at_once) or waits
        hide_from_git(project, tools, visibility.list_temporary_patterns(project))
        self._note_use(project, documents)
        changed = self._write(files, deterministic_summary(documents.build_sources(self._distilled)))
        made = any(self._distilled.get(one) for one in documents.fingerprints)
        return SummaryResult("model" if made else "files", changed, waits)

    def _write(self, files: ProjectPaths, text: str) -> bool:
        """Write the summary, where it is not the repository's. Returns whether it changed."""
        if self._ownership.inspect_files(files).summary == "closed":
            return False
        changed = write_summary(files, text)
        self._ownership.note_replaced(files, SUMMARY)
        return changed

    def _note_use(self, project: Project, documents: KnownDocuments) -> None:
        """Remember what the summary is made of, once the model was asked about all of it."""
        uses, name = documents.fingerprints, str(project.root)
        if uses and uses <= self._distilled.keys() and self._used.get(name) != uses:
            self._note({"project": name, "uses": sorted(uses)})

    def _ask_about(
        self, project: Project, part: DirectiveGroup, tools: Tools, *, at_once: bool
    ) -> NoAnswer | None:
        """Ask about one part, where that was not done yet. None: there is nothing to wait for."""
        made = self._distilled.get(part.fingerprint)
        if made or (made == "" and not at_once) or not self._may_ask(project, part, tools, at_once):
            return None
        texts = {name: redact_secrets(text)[0] for name, text in part.texts}
        key = f"summary:{part.fingerprint}"
        answer = tools.model.ask(
            ModelRequest(prompt_templates.summary_prompt(texts), "smart", key, purpose="summary")
        )
        if isinstance(answer, NoAnswer):
            return answer
        text = parse_summary_answer(answer.text, [text for _, text in part.texts])
        useless = isinstance(text, Unusable) or not summary_lines(text)
        # A document that says something was asked about: where the answer is nothing, its own lines do better.
        self._note({"fingerprint": part.fingerprint, "text": "" if useless else text})
        return None

    def _may_ask(self, project: Project, part: DirectiveGroup, tools: Tools, at_once: bool) -> bool:
        """Whether it is time; if so, it is taken as asked. What all projects share is asked about by one of them."""
        scope, now = str(project.root) if part.own else "", tools.clock.monotonic()
        with self._lock:
            asked = self._asked.get(scope)
            if not at_once and asked is not None and now - asked < ASK_INTERVAL:
                return False
            self._asked[scope] = now
            return True


def _report_agents_link(files: ProjectPaths, tools: Tools) -> None:
    """A person can have linked AGENTS.md on purpose; of LEARNED.md its synthesis says it."""
    id = f"learning.document:{files.root}"
    if not leads_out(files.agents_file, files.root):
        tools.clear(id)
        return
    what = f"{files.agents_file} is a link that leads out of the project: it is not read"
    hint = "make it a file of the project's own, or name the file behind it in `directives`"
    tools.degrade(Degradation(id, what, hint))


def hide_from_git(project: Project, tools: Tools, patterns: Iterable[str]) -> None:
    """Keep what is about to be written out of git, in this clone only. Nothing where it is kept out already."""
    path = visibility.exclude_file(project)
    id = f"learning.exclude:{project.root}"
    if why := visibility.why_not_hidden(project):
        what = f"{why}: nothing is written there, so git shows the files that tacitd makes in {project.root}"
        tools.degrade(
            Degradation(id, what, "`git status` there lists them; add them to a .gitignore of your own")
        )
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
