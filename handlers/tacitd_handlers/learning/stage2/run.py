"""Stage 2: the facts of a project become lines that people and agents read, with the smart tier (SPEC S-20 to S-37).

The order is what makes it safe: the raw file is claimed, the model is asked on a snapshot, the lines are written as one
transaction, the summary is made anew, and only then is the claimed file deleted. A crash at any point finds the claimed
file again; a transaction that was done is known by the batches and files that it names.
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
from tacitd.files.operations import Operation, PutLine, SwapLine
from tacitd.handler import Degradation, Done, Later, Outcome, Rejected, Tools
from tacitd.model.port import ModelRequest, NoAnswer
from tacitd.text.redact import redact_secrets
from tacitd_handlers.learning import prompt_templates, visibility
from tacitd_handlers.learning.bootstrap import Bootstrap
from tacitd_handlers.learning.grounding_checks import LineOrigins, find_typed_facts, sift_lines
from tacitd_handlers.learning.learned_notices import explain_no_line
from tacitd_handlers.learning.project_files import read_all, title_for, view_project
from tacitd_handlers.learning.raw_ownership import RawOwnership
from tacitd_handlers.learning.refusals import RefusalLog, RefusedText, keep_refusals
from tacitd_handlers.learning.removals import check_removals, find_written_lines
from tacitd_handlers.learning.settings import SynthesisSettings
from tacitd_handlers.learning.stage1.run import handle_no_answer
from tacitd_handlers.learning.stage2.paid_answers import LostTwice, PaidAnswer, SynthesisAnswer
from tacitd_handlers.learning.stage2.parse import ProposedLine, SynthesisPlan, parse_plan
from tacitd_handlers.learning.stage2.pending_facts import PendingFacts, claim_facts, split_portions
from tacitd_handlers.learning.stage2.place import AGENTS, LEARNED, PlacedLine, RefusedItem, place_item
from tacitd_handlers.learning.stage2.plan import (
    LINES_LIMIT,
    Decision,
    PlannedPut,
    PlannedSwap,
    decide_operations,
)
from tacitd_handlers.learning.stage2.synthesis_input import (
    SynthesisInput,
    build_input,
    list_blanked_lines,
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
from tacitd_handlers.shared.equality import find_equal, normalise_text
from tacitd_handlers.shared.prompt_extensions import (
    extend_prompt,
    ground_findings,
    list_additions,
    load_extensions,
    split_answer,
)

SYNTHESIZE = "synthesize"
"""The job's name."""
SYNTHESIS_PROMPT = "learning:synthesis"
"""The prompt's name in `Plugin.prompt_extensions`."""


class Synthesizer:
    """Stage 2 for one project at a time. Holds answers that were paid for and could not be written yet."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        ownership: RawOwnership,
        refusals: RefusalLog,
        home: Path,
        disk: Disk | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._ownership = ownership
        self._quarantine = Log(home / "quarantine.jsonl", disk)
        self._refusals = refusals
        self._paid: dict[Path, PaidAnswer] = {}
        """By the project's root."""
        self._failures: Counter[Path] = Counter()

    def synthesize_project(self, project: Project, state: LearningState, tools: Tools) -> Outcome:
        """Make lines of everything that waits in this project.

        Raises OSError and TacitdError; then nothing is lost, and the next run goes on from there. Raises FileBusyError
        before the model is asked where an editor has LEARNED.md open.
        """
        files = ProjectPaths(project.root, tools.disk)
        if tools.write_mode(project) == "off":
            return Done()
        recover_pending(tools)
        if not state.waiting.get(project.root) and not self._ownership.inspect_files(files).waiting:
            return Done()
        if (why := why_not_writable(files)) is not None:
            return Later(why, "give tacitd the right to write there, or `tacitd exclude` the project")
        tools.history.check_editable(project.root, files.learned_file)
        # Trigger: an answer was paid for and could not be written. Why: with further facts beside them, the same facts
        # would be paid for again. Outcome: what came since waits until that answer is written.
        held = self._paid.get(project.root)
        if held is not None and not self._ownership.inspect_files(files).known:
            return Later("git cannot say which files it tracks", "`git status` there says why")
        material = claim_facts(
            project,
            files,
            state,
            tools.history,
            self._ownership,
            tools.clock.now(),
            only=held.batches if held is not None else None,
            among=held.files if held is not None else (),
        )
        outcome = self._synthesize_pending(project, material, state, tools)
        if held is not None and not isinstance(outcome, Later) and self._has_more(project, files, state):
            tools.post(Due(SYNTHESIZE, project))
        return outcome

    def _has_more(self, project: Project, files: ProjectPaths, state: LearningState) -> bool:
        """Whether facts wait that the last call did not cover."""
        return self._ownership.inspect_files(files).waiting or bool(state.waiting.get(project.root))

    def _synthesize_pending(
        self, project: Project, material: PendingFacts, state: LearningState, tools: Tools
    ) -> Outcome:
        if not material.facts:
            return self._finish(project, material, {}, state, tools)
        desk, unsaid = build_input(project, material, self._bootstrap, state, tools)
        # Facts of other tools are in no log of ours: they must be in this one before their claimed file is removed.
        if not keep_refusals(self._refusals, unsaid, project.root, material.id, (), tools):
            what = f"{self._refusals.path} cannot be written: facts of another tool that were refused would be lost"
            return Later(what, "make it a file that tacitd may write, or move it away")
        answered = self._propose_plan(desk, state, tools)
        if not isinstance(answered, SynthesisAnswer):
            return answered
        return self._write(desk, answered, state, tools)

    def _propose_plan(
        self, desk: SynthesisInput, state: LearningState, tools: Tools
    ) -> SynthesisAnswer | Outcome:
        """What the model proposes: one call, or some where there are very many facts."""
        items: dict[ProposedLine, None] = {}
        found: dict[str, list[Any]] = {}
        usd = 0.0
        root, paid = desk.project.root, dict[str, SynthesisAnswer]()
        batches, files = (
            frozenset(made.id for made in desk.material.unfiled),
            frozenset(desk.material.claimed),
        )
        if (held := self._paid.get(root)) is not None:
            paid.update(held.answers)
            self._paid[root] = PaidAnswer(paid, batches, files)
        for number, facts in enumerate(split_portions(desk.facts)):
            key = f"synthesis:{desk.material.id}" + (f":{number}" if number else "")
            if key not in paid:
                plan = _ask_model(desk, facts, key, state, tools)
                if not isinstance(plan, SynthesisAnswer):
                    return self._handle_failure(desk, plan, state, tools)
                paid[key] = plan
                self._paid[root] = PaidAnswer(paid, batches, files)
            usd += paid[key].usd
            items.update(dict.fromkeys(paid[key].plan.items))
            for name, what in paid[key].found.items():
                found.setdefault(name, []).extend(what)
        self._failures.pop(root, None)
        return SynthesisAnswer(SynthesisPlan(tuple(items)), found, usd)

    def _handle_failure(
        self, desk: SynthesisInput, outcome: Later | Rejected | LostTwice, state: LearningState, tools: Tools
    ) -> Outcome:
        """SPEC S-23: facts are never lost. After some answers that cannot be used they are put aside, in sight. Of facts
        whose calls were lost twice only their own batches or files are put aside; what joined them since goes on."""
        settings: SynthesisSettings = tools.settings["synthesis"]
        root, given_up = (
            desk.project.root,
            tuple(dict.fromkeys((*desk.material.claimed, *desk.material.origins))),
        )
        if isinstance(outcome, Later):
            self._failures[root] += outcome.blame == "work"
            if self._failures[root] < settings.tries:
                return outcome
        alone: tuple[str, ...] = ()
        if isinstance(outcome, LostTwice):
            whole, alone = desk.material.at_fault(outcome.parts)
            given_up = tuple(path for path in given_up if path in whole)
        self._failures.pop(root, None)
        self._paid.pop(root, None)
        files, material = ProjectPaths(root, tools.disk), desk.material
        aside = [
            path.name for path in put_aside(files, [path for path in given_up if path in material.claimed])
        ]
        waiting = state.waiting.get(root, {})
        if unfiled := (*material.unfiled_in(given_up), *(waiting[id] for id in alone)):
            aside.append(put_lines_aside(files, material.id, unfiled).name)
        data = {"kind": "aside", "project": str(root), "files": aside, "reason": outcome.reason}
        data["unfiled"] = [made.id for made in unfiled]
        data["batches"] = [*material.batches_in(given_up), *alone, *material.settled]
        where = ", ".join(str(ProjectPaths(root).tmp_dir / name) for name in aside)
        if isinstance(outcome, LostTwice):
            # Only when all is put aside: on a full disk each try would post another one, without a pause between them.
            tools.post(Due(SYNTHESIZE, desk.project))
        return Rejected(f"{outcome.reason}; the facts are in {where}", data=data)

    def _write(
        self, desk: SynthesisInput, answered: SynthesisAnswer, state: LearningState, tools: Tools
    ) -> Outcome:
        project, material = desk.project, desk.material
        candidates, misplaced = _place_items(desk, answered.plan)
        self._note_misplaced(project, misplaced, tools)
        placed, unsaid = sift_lines(candidates, desk.origins)
        answered, parts = _grounded_findings(answered, desk.origins, tools)
        unsaid += [*map(_misplacement, misplaced), *parts]
        keep_refusals(self._refusals, unsaid, project.root, material.id, desk.origins.words, tools)
        now, _ = read_all(project, _folders_of([*desk.shared, *(one.path for one in placed)]))
        decision = decide_operations(
            placed,
            {name: (*one.lines, *one.all_statements, *list_blanked_lines(one)) for name, one in now.items()},
            _removed_lines(project, state, tools),
            {name: set(lines) for name, lines in find_written_lines(tools.history, project).items()},
            limit=max(LINES_LIMIT, len(desk.facts)),
        )
        operations = _operations(project, decision)
        written = 0
        if operations:
            operations = [*_build_visibility(project, operations, tools), *operations]
            key = f"synthesis:{material.id}"
            also = visibility.list_writable_dirs(project)
            done = tools.history.run_transaction(project.root, operations, _cause(material), key, also=also)
            written = sum(effect.did in ("put", "swapped") for effect in done.effects)
        data = {"lines": written, "dropped": len(decision.dropped)} | _build_messages(desk, answered)
        learned = _line_changes(decision, desk)
        data |= _paid_for(desk, answered, state) | learned
        if not operations:
            data["no_line"] = explain_no_line(
                repeated=len(learned["again"]),
                withheld=len(decision.withheld),
                refused=len(unsaid) + (not desk.origins.facts and not desk.origins.unverified_facts),
                asked=bool(desk.facts),
            )
        return self._finish(project, material, data, state, tools)

    def _note_misplaced(self, project: Project, misplaced: Sequence[RefusedItem], tools: Tools) -> None:
        id = f"learning.refused:{project.root}"
        if not misplaced:
            tools.clear(id)
            return
        what = (
            f"{len(misplaced)} proposals of the model were refused in {project.root}: {misplaced[0].reason}"
        )
        hint = f"nothing of them was stored; `tacitd learned --refused {project.root}` shows their words"
        tools.degrade(Degradation(id, what, hint))

    def _finish(
        self,
        project: Project,
        material: PendingFacts,
        data: Mapping[str, Any],
        state: LearningState,
        tools: Tools,
    ) -> Outcome:
        """Lines are durable: summary, then the claimed files, then the record that all of it is done."""
        if material.claimed or material.settled or data.get("lines"):
            self._bootstrap.refresh_summary(project, tools, ask=False)
        self._set_bad_aside(project, material, tools)
        grown = release_claimed(ProjectPaths(project.root, tools.disk), material.read_sizes)
        self._paid.pop(project.root, None)
        made: dict[str, Any] = {"kind": "synthesis", "project": str(project.root)}
        made["batches"] = [*material.batches, *material.settled]
        made |= {"lines": 0, **data}
        if grown:
            made["read"] = {path.name: material.whole_line_sizes[path.name] for path in grown}
        if withheld := sum(line.withheld for line in material.lines):
            made["left_out"] = {SECRET_FACT: withheld}
        made["lines"] += material.settled_lines
        if not material.lines and not material.settled and not made["lines"] and not grown:
            return Done()
        return Done(data=made | {"look": check_removals(project, state, tools.history, tools.clock.now())})

    def _set_bad_aside(self, project: Project, material: PendingFacts, tools: Tools) -> None:
        """SPEC S-21: what is no fact is kept, not fatal."""
        id = f"learning.raw:{project.root}"
        if not material.bad_lines:
            if material.claimed:
                tools.clear(id)
            return
        for bad in material.bad_lines:
            line = redact_secrets(bad[:20_000].decode("utf-8", "replace"))[0][:2000]
            self._quarantine.append({"project": str(project.root), "line": line})
        self._quarantine.flush()
        what = f"{len(material.bad_lines)} lines of {ProjectPaths(project.root).raw_file} are no facts"
        hint = f"they are kept in {self._quarantine.path}"
        tools.degrade(Degradation(id, what, hint))


def recover_pending(tools: Tools) -> None:
    """What was begun and could not be finished goes first: its facts are not asked about again. Raises OSError."""
    if tools.history.pending:
        tools.history.recover(lambda root: tools.write_mode(Project(root, False)) != "off")


def _ask_model(
    desk: SynthesisInput, facts: Sequence[str], key: str, state: LearningState, tools: Tools
) -> SynthesisAnswer | Later | Rejected | LostTwice:
    """One call of the smart tier. Secrets are blanked before a cut could halve one out of recognition."""
    folders = [name.removesuffix(f"/{AGENTS}") for name in desk.shared if name != LEARNED]
    folders += [folder for folder in desk.closed if folder not in folders]
    aboard = load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ()))
    prompt = prompt_templates.synthesis_prompt(
        folders, render_existing(desk), facts, _count_repeated(state, facts)
    )
    prompt = redact_secrets(extend_prompt(prompt, aboard, str(desk.project.root)))[0]
    parts = desk.material.map_fact_ids(facts)
    answer = tools.model.ask(ModelRequest(prompt, "smart", key, parts=tuple(parts), purpose="synthesis"))
    if isinstance(answer, NoAnswer):
        no = handle_no_answer(answer)
        if isinstance(no, Rejected) and answer.repeated:
            return LostTwice(no.reason, frozenset(answer.repeated))
        return no
    said = split_answer(answer.text, aboard)
    given = [*facts, *(line for one in desk.shared.values() for line in one.all_statements)]
    besides = [line for text in list_additions(aboard, str(desk.project.root)) for line in text.splitlines()]
    plan = parse_plan(said.answer, given, besides)
    if isinstance(plan, Unusable):
        what = f"the model's answer cannot be used: {plan.reason}"
        tools.degrade(
            Degradation("learning.answers", what, "it is asked again, and after some tries put aside")
        )
        return Later(what, "it is asked again", blame="work")
    tools.clear("learning.answers")
    return SynthesisAnswer(plan, {name: [what] for name, what in said.found.items()}, answer.usd)


def _paid_for(desk: SynthesisInput, answered: SynthesisAnswer, state: LearningState) -> dict[str, Any]:
    """How many prompts a synthesis drew on, and what all the calls cost that led to it, in dollars."""
    waiting = state.waiting.get(desk.project.root, {})
    facts = sum(waiting[id].usd for id in desk.material.batches if id in waiting)
    return {"from": len(_cause(desk.material)["prompts"]), "usd": round(facts + answered.usd, 6)}


def _grounded_findings(
    answered: SynthesisAnswer, origins: LineOrigins, tools: Tools
) -> tuple[SynthesisAnswer, list[RefusedText]]:
    """What of the riders' findings the facts say, and a refusal for each other part."""
    aboard, sources = (
        load_extensions(tools.prompt_extensions.get(SYNTHESIS_PROMPT, ())),
        origins.build_sources(),
    )
    kept: dict[str, list[Any]] = {}
    refused: list[RefusedText] = []
    for name, findings in answered.found.items():
        for one in findings:
            found, parts = ground_findings({name: one}, aboard, sources)
            kept.setdefault(name, []).extend(found.values())
            refused += [RefusedText(part.kind, part.text, part.reason, part.waits) for part in parts]
    found = {name: what for name, what in kept.items() if what}
    return replace(answered, found=found), refused


def _misplacement(one: RefusedItem) -> RefusedText:
    """SPEC S-24: of a fact that was refused for its place the words are kept."""
    where = "" if one.item.file == LEARNED else f" ({one.item.file[:200]})"
    return RefusedText("line", one.item.fact, f"{one.reason}{where}")


def _build_messages(desk: SynthesisInput, answered: SynthesisAnswer) -> dict[str, Any]:
    """What riders found, with the words that it came from: told once the lines are durable."""
    if not answered.found:
        return {}
    cause = _cause(desk.material)
    origin = {
        "sessions": cause["sessions"],
        "prompts": cause["prompts"],
        "facts": list(desk.facts),
        "words": list(desk.origins.words),
    }
    return {"tell": {name: {"found": what, **origin} for name, what in answered.found.items()}}


def _place_items(desk: SynthesisInput, plan: SynthesisPlan) -> tuple[list[PlacedLine], list[RefusedItem]]:
    """Where each item goes. A folder whose AGENTS.md turns out to be closed is as good as missing."""
    typed = find_typed_facts((item.fact for item in plan.items), desk.origins)
    seen = view_project(desk.project, desk.closed)
    first = [place_item(item, seen, is_typed=item.fact in typed) for item in plan.items]
    _, closed = read_all(desk.project, _folders_of(p.path for p in first if isinstance(p, PlacedLine)))
    seen = view_project(desk.project, {**desk.closed, **closed})
    judged = [place_item(item, seen, is_typed=item.fact in typed) for item in plan.items]
    return [p for p in judged if isinstance(p, PlacedLine)], [p for p in judged if isinstance(p, RefusedItem)]


def _folders_of(names: Iterable[str]) -> list[str]:
    return [name.removesuffix(f"/{AGENTS}") for name in dict.fromkeys(names) if name != LEARNED]


def _removed_lines(project: Project, state: LearningState, tools: Tools) -> dict[str, set[str]]:
    """Lines that a person took out, those included that nobody has looked at since (SPEC S-28)."""
    stones = {name: set(lines) for name, lines in state.tombstones.get(project.root, {}).items()}
    seen = check_removals(project, state, tools.history, tools.clock.now())
    for name, lines in seen.get("removed", {}).items():
        stones.setdefault(name, set()).update(lines)
    for name, lines in seen.get("lifted", {}).items():
        stones.setdefault(name, set()).difference_update(lines)
    return stones


def _line_changes(decision: Decision, desk: SynthesisInput) -> dict[str, Any]:
    """What the state remembers of each line: put, updated, said again, or withheld."""
    put = [operation.line for operation in decision.operations]
    swapped = {o.line: o.old for o in decision.operations if isinstance(o, PlannedSwap)}
    lines = [line for one in desk.shared.values() for line in one.lines]
    said = [find_equal(one.placed.line, lines) for one in decision.dropped]
    again = list(dict.fromkeys([*desk.again, *(line for line in said if line is not None)]))
    withheld = {one.placed.line: one.placed.path for one in decision.withheld}
    files = {operation.line: operation.path for operation in decision.operations}
    return {"put": put, "files": files, "swapped": swapped, "again": again, "withheld": withheld}


def _count_repeated(state: LearningState, facts: Sequence[str]) -> dict[str, int]:
    """How often each of these facts was said lately, in all sessions (SPEC S-36)."""
    said = Counter(normalise_text(fact) for fact in tuple(state.recent_facts))
    return {fact: said[normalise_text(fact)] for fact in dict.fromkeys(facts)}


def _operations(project: Project, decision: Decision) -> list[Operation]:
    made: list[Operation] = []
    for operation in decision.operations:
        path, title = project.root / operation.path, title_for(operation.path)
        match operation:
            case PlannedPut(heading=heading, line=line):
                made.append(PutLine(path, heading, line, title))
            case PlannedSwap(old=old, line=line, heading=heading):
                made.append(SwapLine(path, old, line, heading, title))
    return made


def _build_visibility(project: Project, operations: Iterable[Operation], tools: Tools) -> list[Operation]:
    """What goes along with lines: the pointer for the next session, and excludes for what is created by us."""
    learned = project.root / LEARNED
    targets = list(dict.fromkeys(operation.path for operation in operations))
    pointers = visibility.build_pointer(project, tools.history) if learned in targets else []
    if tools.write_mode(project) != "local":
        return pointers
    patterns = visibility.list_created_patterns(project, [*targets, *(p.path for p in pointers)])
    return [*visibility.build_excludes(project, patterns), *pointers]


def _cause(material: PendingFacts) -> dict[str, Any]:
    """From which words the lines came, and what of the material they are: what a crash is recovered by."""
    sessions = dict.fromkeys(line.session for line in material.lines if line.session)
    prompts = dict.fromkeys(prompt for line in material.lines for prompt in line.prompts)
    files = [path.name for path in material.claimed]
    of: dict[str, Any] = {
        "batches": material.batches,
        "files": files,
        "whole": dict(material.whole_line_sizes),
    }
    words = {"sessions": list(sessions), "prompts": list(prompts), "facts": list(material.facts)}
    return {"by": "learning", "what": "synthesis"} | of | words
