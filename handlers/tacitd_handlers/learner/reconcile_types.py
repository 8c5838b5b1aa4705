"""Input and result of the reconciliation. Data only; what is done with it is in `reconcile.py` and `row_folding.py`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from tacitd_handlers.learner.formats.ledger_md import RowKey
from tacitd_handlers.learner.ledger import Ledger
from tacitd_handlers.learner.rules.capacity import Move
from tacitd_handlers.learner.session_details import Intent
from tacitd_handlers.learner.state import LearnerState, SessionKey


class ReconcileInput(Struct, frozen=True):
    """The input besides the profile and the state."""

    ledger: Ledger
    intents: Mapping[RowKey, Intent] = field(default_factory=dict)
    """What `record` was given, by the keys of the rows."""
    settled: bool = True
    """Whether nobody is in the middle of writing. Only then are entries and rows of others completed and corrected."""
    archives_surplus: bool = False
    """Whether a person asks that not more than twenty are active, also if they wrote more."""
    restored: frozenset[str] = frozenset()
    """Sections that a session start restored empty, and whose entries must be written again."""


class ReconcileResult(Struct):
    """The profile as it should be, and the state after it is written."""

    data: bytes | None
    """None: there is nothing to write."""
    state: LearnerState
    repaired: list[str] = field(default_factory=list)
    """Sections that were missing."""
    added: list[SessionKey] = field(default_factory=list)
    corrected: list[SessionKey] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)
    queue_changed: bool = False
    """Whether the list of tags that wait for room changed."""
    vague: list[str] = field(default_factory=list)
    """Tags whose description was completed with a stamp (SPEC L-10)."""
    questions: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of label and tag: the person is asked whether they are one weakness (SPEC L-11)."""
