"""Lines that were learned in three projects: they are offered as rules of the person, for all projects (SPEC S-55). Pure.

Nothing is taken over by itself: `tacitd adopt` does it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from tacitd_handlers.learning.person_decisions import LineDecisions
from tacitd_handlers.learning.state import LearningState
from tacitd_handlers.shared.equality import find_equal

ENOUGH = 3
"""Projects in which a line is learned before it is offered."""


class RuleOffer(Struct, frozen=True):
    """A line that could be a rule for all projects."""

    line: str
    """As it is in the project in which it was said last."""
    roots: tuple[Path, ...]
    """The projects' roots, the one in which it was said first before the others."""


def find_offers(
    state: LearningState,
    decided: Collection[str],
    identify: Callable[[Path], str],
    decisions: LineDecisions,
) -> list[RuleOffer]:
    """Return the lines that are in at least ENOUGH projects, the most often learned first.

    `decided`: lines that the person took or declined. `identify`: given a root, what identifies its project, so that two
    clones count as one. A line that the person removed from a project or forgot there (`decisions`) does not count there.
    """
    counts = Counter(state.find_normal(line) for lines in state.line_confidences.values() for line in lines)
    # Nearly all lines are in one project, and are left at that: a year has many thousands, and each new line changes the offers.
    common = {normal for normal, count in counts.items() if count >= ENOUGH}
    found: dict[str, list[tuple[float, float, Path, str]]] = {}
    for root, confidences in state.line_confidences.items() if common else ():
        removed = {line for lines in state.tombstones.get(root, {}).values() for line in lines}
        for line, known in confidences.items():
            if (normal := state.find_normal(line)) not in common:
                continue
            if line not in removed and not decisions.is_dropped(root, line):
                found.setdefault(normal, []).append((known.first_seen, known.last_seen, root, line))
    offers: list[RuleOffer] = []
    for sightings in found.values():
        if len(sightings) < ENOUGH:
            continue
        projects: dict[str, Path] = {}
        for _, _, root, _ in sorted(sightings):
            projects.setdefault(identify(root), root)
        line = max(sightings, key=lambda one: one[1])[3]
        if len(projects) >= ENOUGH and find_equal(line, decided) is None:
            offers.append(RuleOffer(line, tuple(projects.values())))
    return sorted(offers, key=lambda one: (-len(one.roots), one.line))
