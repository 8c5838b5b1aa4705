"""Learned lines that the person made rules for all projects: their log, and the hook `person_rules` (SPEC S-55).

The rules file itself is written by the plugin `reach`. Who deletes a line of that file withdraws the rule. A record is
`{"at", "choice", "line"}`: `choice` is `take`, `drop` or `restore` (as if nothing had been decided), `at` in seconds since
1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tacitd.clock import Clock
from tacitd.files.log import BLANK, Log
from tacitd.session_context.person_rules import PersonRule
from tacitd.state.paths import state_dir
from tacitd_handlers.learning.inventory import state_of
from tacitd_handlers.learning.offers import RuleOffer, find_offers
from tacitd_handlers.learning.person_decisions import read_line_decisions
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared.equality import normalise_text
from tacitd_handlers.shared.project_identity import identify_project

ADOPTED_LOG = "adopted.jsonl"


class AdoptedRules:
    """What the person decided about offers, newest decision last."""

    def __init__(self, home: Path) -> None:
        """`home`: the handler's directory."""
        self.path = home / ADOPTED_LOG

    def read_choices(self) -> dict[str, bool]:
        """By line: whether it was taken (True) or declined. Foreign and purged records are skipped. Raises OSError."""
        found: dict[str, bool] = {}
        for record in Log(self.path).read():
            line, choice = record.get("line"), record.get("choice")
            if line == BLANK:
                continue
            if isinstance(line, str) and choice in ("take", "drop"):
                found[line] = choice == "take"
            elif isinstance(line, str) and choice == "restore":
                found.pop(line, None)
        return found

    def list_open_offers(self, state: LearningState) -> list[RuleOffer]:
        """The offers that the person has not decided on. Raises OSError."""
        decisions = read_line_decisions(self.path.parent)
        return find_offers(state, self.read_choices(), lambda root: identify_project(root).key, decisions)

    def add(self, line: str, *, take: bool, at: float) -> None:
        """Append a decision, durably. `at`: seconds since 1970, UTC. Raises OSError, LogDamagedError."""
        self._append(line, "take" if take else "drop", at)

    def withdraw(self, line: str, *, at: float) -> None:
        """Append that nothing is decided any more. `at`: seconds since 1970, UTC. Raises OSError, LogDamagedError."""
        self._append(line, "restore", at)

    def _append(self, line: str, choice: str, at: float) -> None:
        Log(self.path).append_and_close({"at": at, "choice": choice, "line": line})


def list_open_offers(state_directory: Path) -> list[RuleOffer]:
    """The offers that the person has not decided on. Raises OSError."""
    adopted = AdoptedRules(state_directory / "handlers" / "learning")
    return adopted.list_open_offers(state_of(state_directory))


class LearnedRules:
    """The hook `person_rules`: a rule's id is its text, folded."""

    title = "Rules"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._adopted = AdoptedRules(state_dir(environ) / "handlers" / "learning")
        self._clock = clock

    def list_files(self) -> Sequence[Path]:
        """The log of the decisions."""
        return [self._adopted.path]

    def list_rules(self) -> Sequence[PersonRule]:
        """The lines that the person took, the newest first. Raises OSError."""
        taken = [line for line, is_taken in self._adopted.read_choices().items() if is_taken]
        return [PersonRule(normalise_text(line), line, by_person=True) for line in reversed(taken)]

    def withdraw_rule(self, id: str) -> None:
        """Decline the rule, so that it is not offered again. Raises OSError, LogDamagedError."""
        for line, is_taken in self._adopted.read_choices().items():
            if is_taken and normalise_text(line) == id:
                self._adopted.add(line, take=False, at=self._clock.now())
