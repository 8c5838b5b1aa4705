"""Calls of the model in a store, as the budget writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacitd.clock import Clock
from tacitd.config.settings import BudgetSettings
from tacitd.model.budget import Budget
from tacitd.model.port import ModelRequest, Tier
from tacitd.store import Store, open_readonly

WIDE = BudgetSettings(calls_per_minute=10_000, calls_per_day=100_000, usd_per_day=1e6, usd_per_month=1e6)
"""Caps that nothing reaches."""


@contextmanager
def open_budget(state: Path, clock: Clock) -> Iterator[Budget]:
    """The budget of a state directory, beside a daemon or without one."""
    store = Store.open(state, clock, owner=False)
    try:
        yield Budget(store, WIDE, clock)
    finally:
        store.close()


def spend(
    budget: Budget,
    purpose: str,
    usd: float | None,
    *,
    project: str = "",
    why: str = "",
    model: str = "",
    tier: Tier = "fast",
) -> None:
    """One call from begin to end."""
    ask = ModelRequest("?", tier, purpose=purpose, project=project)
    call = budget.begin_call(ask)
    assert isinstance(call, int)
    budget.end_call(
        call,
        "failed" if why else "answered",
        usd=usd,
        tokens_in=100,
        tokens_out=10,
        reason=why,
        model=model,
    )


def list_calls(state: Path) -> list[dict[str, object]]:
    """The rows of all calls, oldest first."""
    store = open_readonly(state)
    if store is None:
        return []
    names = "number, plugin, purpose, tier, session, ended, outcome, used, usd, assumed, reason, tokens_in, tokens_out"
    with store:
        return [
            dict(zip(names.split(", "), row, strict=True))
            for row in store.rows(f"SELECT {names} FROM call ORDER BY number")
        ]
