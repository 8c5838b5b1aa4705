"""A problem that is reported until it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacitd.handler import Degradation

if TYPE_CHECKING:
    from tacitd.contract import Tools


def report_problem(tools: Tools, id: str, what: str, hint: str) -> None:
    """Report what is wrong; "": it is gone."""
    if what:
        tools.degrade(Degradation(id, what, hint))
    else:
        tools.clear(id)
