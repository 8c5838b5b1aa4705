"""Where a record belongs, asked in threads."""

from __future__ import annotations

from pathlib import Path

from tacitd.errors import StoreLostError
from tacitd.events import Project
from tacitd.files.stalls import Stalls
from tacitd.testing import FakeClock
from tacitd.work.project_lookup import FRESH, ProjectLookup


def test_a_store_that_is_lost_during_a_question_makes_no_directory_stuck() -> None:
    """RELIABILITY 20b: only a mount that stalls does. It is asked again, and what is not known now is not what was known before."""
    place, clock = Project(Path("/w"), False), FakeClock()
    answers: list[Project | StoreLostError] = [place, StoreLostError("the store is damaged", ""), place]

    def find(cwd: str) -> Project:
        answer = answers.pop(0)
        if isinstance(answer, StoreLostError):
            raise answer
        return answer

    stalls = Stalls(clock)
    lookup = ProjectLookup(find, clock, stalls)
    for known in (place, None, place):
        clock.advance(FRESH)
        assert lookup.find_project("/w") == known
        clock.advance(FRESH)
        assert stalls.list_stuck() == []
