"""Stage 2: write a project's facts as lines of LEARNED.md and AGENTS.md, with the smart tier (SPEC S-20 to S-37).

The order makes it crash-safe: the raw file is claimed, the model is asked about a snapshot, the lines are written as one
transaction, the summary is regenerated, and only then is the claimed file deleted (SPEC S-22, S-31, S-32). After a crash
at any point the claimed file is still there. A transaction that was done is recognised by the batches and files that its
cause names.

This module makes the calls and writes. Parsing, placing and deciding are in the pure modules beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacitd.events import Due, Project
from tacitd.files.disk import Disk
from tacitd.files.log import Log
from tacitd.files.operations import Operation
from tacitd.handler import Degradation, Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning import prompt_templates, visibility
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.grounding_checks import LineOrigins, sift_lines
from tacitd_handlers.learning.learned_notices import explain_no_line
from tacitd_handlers.learning.mirrors.mirror_sync import Mirrors
from tacitd_handlers.learning.project_files import read_all
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.removals import check_removals, find_written_lines
from tacitd_handlers.learning.settings import SynthesisSettings
from tacitd_handlers.learning.stage1.run import handle_no_answer
from tacitd_handlers.learning.stage2.line_changes import build_operations, describe_changes
from tacitd_handlers.learning.stage2.line_origins import describe_origins, divide_facts
from tacitd_handlers.learning.stage2.numbered_facts import NumberedFact, list_repeated, split_numbered
from tacitd_handlers.learning.stage2.paid_answers import LostTwice, PaidAnswer, SynthesisAnswer
from tacitd_handlers.learning.stage2.parse import ProposedLine, SynthesisPlan, parse_plan
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts, claim_facts
from tacitd_handlers.learning.stage2.place import AGENTS, LEARNED, RefusedItem
from tacitd_handlers.learning.stage2.plan import (
    LINES_LIMIT,
    decide_operations,
)
from tacitd_handlers.learning.stage2.synthesis_input import (
    SynthesisInput,
    build_input,
    folders_of,
    list_blanked_lines,
    place_items,
    render_existing,
)
from tacitd_handlers.learning.state import SECRET_FACT, LearningState
from tacitd_handlers.learning.store import (
    ProjectPaths,
    put_aside,
    put_lines_aside,
    release_claimed,
    why_not_writable,
)
from tacitd_handlers.shared.answer_screening import Unusable
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)

SYNTHESIZE = "synthesize"  # the job's name
SYNTHESIS_PROMPT = "learning:synthesis"  # the prompt's name in `Plugin.prompt_extensions`


class Synthesizer:
    """Runs Stage 2. Keeps answers that were paid for and are not written yet, in memory.

    Calls for one project must not overlap (SPEC S-53); calls for different projects may.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        ownership: RawOwnership,
        refusals: RefusalLog,
        mirrors: Mirrors,
        home: Path,
        disk: Disk | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._ownership = ownership
        self._quarantine = Log(home / "quarantine.jsonl", disk)
        self._refusals = refusals
        self._mirrors = mirrors
        self._paid: dict[Path, PaidAnswer] = {}
        """Paid answers by the project's root."""
        self._failures: Counter[Path] = Counter()
        """Number of unusable answers in a row, by the project's root."""

    def synthesize_project(self, project: Project, state: LearningState, tools: Tools) -> Outcome:
        """Write lines for all facts that wait in this project.

        Raises OSError and TacitdError; no facts are lost then, and the next call continues. Raises FileBusyError before
        the model is asked if an editor has LEARNED.md open.
        """
        files = ProjectPaths(project.root, tools.disk)
        if tools.write_mode(project) == "off":
            return Done()
        recover_pending(tools)
        if not state.waiting.get(project.root) and not self._ownership.inspect_files(files).waiting:
            return Done()
        if (why := why_not_writable(files)) is not None:
            return Later(why, "make it writable for tacitd, or run `tacitd exclude` for the project")
        tools.history.check_editable(project.root, files.learned_file)
        # Trigger: an answer was paid for and could not be written. Why: with more facts the call would have another key,
        # and the same facts would be paid for again. Outcome: newer facts wait until that answer is written.
        paid_before = self._paid.get(project.root)
        if paid_before is not None and not self._ownership.inspect_files(files).known:
            return Later("git cannot list its tracked files", f"run `git -C {project.root} status`")
        pending = claim_facts(
            project,
            files,
            state,
            tools.history,
            self._ownership,
            tools.clock.now(),
            only=paid_before.batches if paid_before is not None else None,
            among=paid_before.files if paid_before is not None else (),
        )
        outcome = self._synthesize_pending(project, pending, state, tools)
        if (
            paid_before is not None
            and not isinstance(outcome, Later)
            and self._has_more(project, files, state)
        ):
            tools.post(Due(SYNTHESIZE, project))
        return outcome

    def _has_more(self, project: Project, files: ProjectPaths, state: LearningState) -> bool:
        """Whether facts wait that the last synthesis did not cover."""
        return self._ownership.inspect_files(files).waiting or bool(state.waiting.get(project.root))

    def _synthesize_pending(
        self, project: Project, pending: PendingFacts, state: LearningState, tools: Tools
    ) -> Outcome:
        if not pending.facts:
            return self._finish(project, pending, {}, state, tools)
        inputs, refused = build_input(project, pending, self._bootstrap, state, tools)
        # Facts of other tools are not in the handler's log. A refused one must be in the log of refusals before its
        # claimed file is removed.
        if not keep_refusals(self._refusals, refused, project.root, pending.id, (), tools):
            what = f"{self._refusals.path} cannot be written: refused facts of another tool would be lost"
            return Later(what, "make it a regular file that tacitd can write, or move it away")
        answered = self._propose_plan(inputs, state, tools)
        if not isinstance(answered, SynthesisAnswer):
            return answered
        return self._write(inputs, answered, state, tools)

    def _propose_plan(
        self, inputs: SynthesisInput, state: LearningState, tools: Tools
    ) -> SynthesisAnswer | Outcome:
        """Ask the model about all facts, in one call or in several if there are very many.

        Each answer is kept as soon as it is there, so that a failure of a later call does not pay for it again.
        """
        items: dict[ProposedLine, None] = {}
        found: dict[str, list[Any]] = {}
        usd = 0.0
        root, paid = inputs.project.root, dict[str, SynthesisAnswer]()
        batches, files = (
            frozenset(made.id for made in inputs.pending.unfiled),
            frozenset(inputs.pending.claimed),
        )
        if (paid_before := self._paid.get(root)) is not None:
            paid.update(paid_before.answers)
            self._paid[root] = PaidAnswer(paid, batches, files)
        for number, facts in enumerate(split_numbered(inputs.numbered)):
            key = f"synthesis:{inputs.pending.id}" + (f":{number}" if number else "")
            if key not in paid:
                plan = _ask_model(inputs, facts, key, state, tools)
                if not isinstance(plan, SynthesisAnswer):
                    return self._handle_failure(inputs, plan, state, tools)
                paid[key] = plan
                self._paid[root] = PaidAnswer(paid, batches, files)
            usd += paid[key].usd
            items.update(dict.fromkeys(paid[key].plan.items))
            for name, what in paid[key].found.items():
                found.setdefault(name, []).extend(what)
        self._failures.pop(root, None)
        return SynthesisAnswer(SynthesisPlan(tuple(items)), found, usd)

    def _handle_failure(
        self,
        inputs: SynthesisInput,
        outcome: Later | Rejected | LostTwice,
        state: LearningState,
        tools: Tools,
    ) -> Outcome:
        """Retry later, or put the facts aside in files that `status` shows; facts are never lost (SPEC S-23).

        Trigger: `synthesis.tries` unusable answers in a row, or a rejection by the model's port. Why: the same facts would
        be paid for again without result. Outcome: the files of all facts are put aside. If calls were lost twice
        (LostTwice), only the batches or files of their facts are put aside, and a new synthesis handles the others.
        """
        settings: SynthesisSettings = tools.settings["synthesis"]
        root, given_up = (
            inputs.project.root,
            tuple(dict.fromkeys((*inputs.pending.claimed, *inputs.pending.origins))),
        )
        if isinstance(outcome, Later):
            self._failures[root] += outcome.blame == "work"
            if self._failures[root] < settings.tries:
                return outcome
        alone: tuple[str, ...] = ()
        if isinstance(outcome, LostTwice):
            whole, alone = inputs.pending.at_fault(outcome.parts)
            given_up = tuple(path for path in given_up if path in whole)
        self._failures.pop(root, None)
        self._paid.pop(root, None)
        files, pending = ProjectPaths(root, tools.disk), inputs.pending
        aside = [
            path.name for path in put_aside(files, [path for path in given_up if path in pending.claimed])
        ]
        waiting = state.waiting.get(root, {})
        if unfiled := (*pending.unfiled_in(given_up), *(waiting[id] for id in alone)):
            aside.append(put_lines_aside(files, pending.id, unfiled).name)
        data = {"kind": "aside", "project": str(root), "files": aside, "reason": outcome.reason}
        data["unfiled"] = [made.id for made in unfiled]
        data["batches"] = [*pending.batches_in(given_up), *alone, *pending.settled]
        where = ", ".join(str(ProjectPaths(root).tmp_dir / name) for name in aside)
        if isinstance(outcome, LostTwice):
            # Only when all is put aside: on a full disk each try would post another one, without a pause between them.
            tools.post(Due(SYNTHESIZE, inputs.project))
        return Rejected(f"{outcome.reason}; the facts are in {where}", data=data)

    def _write(
        self, inputs: SynthesisInput, answered: SynthesisAnswer, state: LearningState, tools: Tools
    ) -> Outcome:
        """Place, ground and decide the proposed lines, write them as one transaction, and finish."""
        project, pending = inputs.project, inputs.pending
        candidates, misplaced = place_items(inputs, answered.plan)
        self._note_misplaced(project, misplaced, tools)
        placed, refused = sift_lines(candidates, inputs.origins)
        answered, parts = _grounded_findings(answered, inputs.origins, tools)
        refused += [*map(_misplacement, misplaced), *parts]
        keep_refusals(self._refusals, refused, project.root, pending.id, inputs.origins.words, tools)
        # The files are read again: they may have changed during the model's call.
        now, _ = read_all(project, folders_of([*inputs.shared, *(one.path for one in placed)]))
        decision = decide_operations(
            placed,
            {name: (*one.lines, *one.all_statements, *list_blanked_lines(one)) for name, one in now.items()},
            _removed_lines(project, state, tools),
            {name: set(lines) for name, lines in find_written_lines(tools.history, project).items()},
            limit=max(LINES_LIMIT, len(inputs.facts)),
            reword=inputs.reword,
        )
        from_facts = describe_origins((one.source for one in decision.operations), inputs.numbered)
        operations = build_operations(project, decision)
        written = 0
        if operations:
            mirrors = self._mirrors.join(project, operations, tools)
            hidden = [*_hide_created(project, operations, tools), *mirrors.before]
            operations = [*hidden, *operations, *mirrors.after]
            key = f"synthesis:{pending.id}"
            also = [*visibility.list_writable_dirs(project), *mirrors.also]
            done = tools.history.run_transaction(
                project.root, operations, _cause(pending) | {"lines": from_facts}, key, also=also
            )
            self._mirrors.settle(project)
            written = sum(effect.did in ("put", "swapped") for effect in done.effects)
        data = {"lines": written, "dropped": len(decision.dropped)} | _build_messages(inputs, answered)
        learned = describe_changes(decision, inputs)
        data |= _paid_for(inputs, answered, state) | learned | {"origins": from_facts}
        data |= divide_facts(placed, inputs.numbered) | {"reworded": sorted(inputs.reword)}
        if not operations:
            data["no_line"] = explain_no_line(
                repeated=len(learned["again"]),
                withheld=len(decision.withheld),
                refused=len(refused) + (not inputs.origins.facts and not inputs.origins.unverified_facts),
                asked=bool(inputs.facts),
            )
        return self._finish(project, pending, data, state, tools)

    def _note_misplaced(self, project: Project, misplaced: Sequence[RefusedItem], tools: Tools) -> None:
        id = f"learning.refused:{project.root}"
        if not misplaced:
            tools.clear(id)
            return
        what = (
            f"{len(misplaced)} proposals of the model were refused in {project.root}: {misplaced[0].reason}"
        )
        hint = f"they were not stored; `tacitd learned --refused {project.root}` shows them"
        tools.degrade(Degradation(id, what, hint))

    def _finish(
        self,
        project: Project,
        pending: PendingFacts,
        data: Mapping[str, Any],
        state: LearningState,
        tools: Tools,
    ) -> Outcome:
        """Finish a synthesis whose lines are durable (SPEC S-32).

        The order is: regenerate the summary, quarantine bad lines, delete the claimed files, return the commit.
        """
        if pending.claimed or pending.settled or data.get("lines"):
            self._bootstrap.refresh_summary(project, tools, ask=False)
        self._set_bad_aside(project, pending, tools)
        grown = release_claimed(ProjectPaths(project.root, tools.disk), pending.read_sizes)
        self._paid.pop(project.root, None)
        made: dict[str, Any] = {"kind": "synthesis", "project": str(project.root)}
        made["batches"] = [*pending.batches, *pending.settled]
        made |= {"lines": 0, **data}
        if grown:
            made["read"] = {path.name: pending.whole_line_sizes[path.name] for path in grown}
        if withheld := sum(line.withheld for line in pending.lines):
            made["left_out"] = {SECRET_FACT: withheld}
        made["lines"] += pending.settled_lines
        if not pending.lines and not pending.settled and not made["lines"] and not grown:
            return Done()
        return Done(data=made | {"look": check_removals(project, state, tools.history, tools.clock.now())})

    def _set_bad_aside(self, project: Project, pending: PendingFacts, tools: Tools) -> None:
        """Write lines that do not parse as facts to quarantine.jsonl (SPEC S-21)."""
        id = f"learning.raw:{project.root}"
        if not pending.bad_lines:
            if pending.claimed:
                tools.clear(id)
            return
        for bad in pending.bad_lines:
            line = redact_secrets(bad[:20_000].decode("utf-8", "replace"))[0][:2000]
            self._quarantine.append({"project": str(project.root), "line": line})
        self._quarantine.flush()
        what = f"{len(pending.bad_lines)} lines of {ProjectPaths(project.root).raw_file} are not facts"
        hint = f"they are kept in {self._quarantine.path}"
        tools.degrade(Degradation(id, what, hint))


def recover_pending(tools: Tools) -> None:
    """Finish transactions that were begun, so that their facts are not asked about again. Raises OSError."""
    if tools.history.pending:
        tools.history.recover(lambda root: tools.write_mode(Project(root, False)) != "off")


def _ask_model(
    inputs: SynthesisInput, facts: Mapping[int, NumberedFact], key: str, state: LearningState, tools: Tools
) -> SynthesisAnswer | Later | Rejected | LostTwice:
    """Make one call of the smart tier about some of the facts. `key` identifies the call."""
    folders = [name.removesuffix(f"/{AGENTS}") for name in inputs.shared if name != LEARNED]
    folders += [folder for folder in inputs.closed if folder not in folders]
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    described = {number: fact.describe() for number, fact in facts.items() if fact.is_new}
    prompt = prompt_templates.synthesis_prompt(
        folders, render_existing(inputs), described, list_repeated(facts, state, inputs.project.root)
    )
    prompt = redact_secrets(extend_prompt(prompt, extensions, str(inputs.project.root)))[0]
    parts = inputs.pending.map_fact_ids(one for fact in facts.values() for one in fact.spellings)
    answer = tools.model.ask(
        ModelRequest(
            prompt, "smart", key, parts=tuple(parts), purpose="synthesis", project=str(inputs.project.root)
        )
    )
    if isinstance(answer, NoAnswer):
        no = handle_no_answer(answer)
        if isinstance(no, Rejected) and answer.repeated:
            return LostTwice(no.reason, frozenset(answer.repeated))
        return no
    split = split_answer(answer.text, extensions)
    given = [
        *(fact.text for fact in facts.values()),
        *(line for one in inputs.shared.values() for line in one.all_statements),
    ]
    additions = [
        line for text in list_additions(extensions, str(inputs.project.root)) for line in text.splitlines()
    ]
    plan = parse_plan(split.answer, given, additions)
    if isinstance(plan, Unusable):
        what = f"the model's answer cannot be used: {plan.reason}"
        tools.degrade(
            Degradation(
                "learning.answers",
                what,
                "the model is asked again; after `synthesis.tries` unusable answers the facts are put aside",
            )
        )
        return Later(what, "the model is asked again", blame="work")
    tools.clear("learning.answers")
    return SynthesisAnswer(plan, {name: [what] for name, what in split.found.items()}, answer.usd)


def _paid_for(inputs: SynthesisInput, answered: SynthesisAnswer, state: LearningState) -> dict[str, Any]:
    """The number of prompts behind a synthesis, and the cost of all calls that led to it in US dollars."""
    waiting = state.waiting.get(inputs.project.root, {})
    facts = sum(waiting[id].usd for id in inputs.pending.batches if id in waiting)
    return {"from": len(_cause(inputs.pending)["prompts"]), "usd": round(facts + answered.usd, 6)}


def _grounded_findings(
    answered: SynthesisAnswer, origins: LineOrigins, tools: Tools
) -> tuple[SynthesisAnswer, list[RefusedText]]:
    """Return the answer with the parts of its findings that the facts support, and a refusal for each other part."""
    extensions = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    sources = origins.build_sources()
    kept: dict[str, list[Any]] = {}
    refused: list[RefusedText] = []
    for name, findings in answered.found.items():
        for one in findings:
            found, parts = ground_findings({name: one}, extensions, sources)
            kept.setdefault(name, []).extend(found.values())
            refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in parts]
    found = {name: what for name, what in kept.items() if what}
    return replace(answered, found=found), refused


def _misplacement(one: RefusedItem) -> RefusedText:
    """The refusal of a line whose place was refused: its text is kept with the reason (SPEC S-24)."""
    where = "" if one.item.file == LEARNED else f" ({one.item.file[:200]})"
    return RefusedText("line", one.item.fact, f"{one.reason}{where}")


def _build_messages(inputs: SynthesisInput, answered: SynthesisAnswer) -> dict[str, Any]:
    """The commit's messages to other plugins: findings with their origin. They are delivered after the commit."""
    if not answered.found:
        return {}
    cause = _cause(inputs.pending)
    origin = {
        "sessions": cause["sessions"],
        "prompts": cause["prompts"],
        "facts": list(inputs.facts),
        "corrected": [fact.text for fact in inputs.numbered if fact.is_new and fact.corrections],
        "words": list(inputs.origins.words),
    }
    return {"tell": {name: {"found": what, **origin} for name, what in answered.found.items()}}


def _removed_lines(project: Project, state: LearningState, tools: Tools) -> dict[str, set[str]]:
    """Lines that the user removed, by file, including removals since the last check (SPEC S-28)."""
    tombstones = {name: set(lines) for name, lines in state.tombstones.get(project.root, {}).items()}
    seen = check_removals(project, state, tools.history, tools.clock.now())
    for name, lines in seen.get("removed", {}).items():
        tombstones.setdefault(name, set()).update(lines)
    for name, lines in seen.get("lifted", {}).items():
        tombstones.setdefault(name, set()).difference_update(lines)
    return tombstones


def _hide_created(project: Project, operations: Iterable[Operation], tools: Tools) -> list[Operation]:
    """Operations that keep the files out of git that these operations create, unless they are shared through git."""
    if tools.write_mode(project) != "local":
        return []
    targets = list(dict.fromkeys(operation.path for operation in operations))
    return visibility.build_excludes(project, visibility.list_created_patterns(project, targets))


def _cause(pending: PendingFacts) -> dict[str, Any]:
    """The transaction's cause: the origin of the lines, and the batches and files by which recovery recognises it."""
    sessions = dict.fromkeys(line.session for line in pending.lines if line.session)
    prompts = dict.fromkeys(prompt for line in pending.lines for prompt in line.prompts)
    files = [path.name for path in pending.claimed]
    of: dict[str, Any] = {
        "batches": pending.batches,
        "files": files,
        "whole": dict(pending.whole_line_sizes),
    }
    words = {"sessions": list(sessions), "prompts": list(prompts), "facts": list(pending.facts)}
    return {"by": "learning", "what": "synthesis"} | of | words
