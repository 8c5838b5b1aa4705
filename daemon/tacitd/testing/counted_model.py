"""A model in this process whose calls are counted in the real budget."""

from __future__ import annotations

from tacitd.model.budget import Budget
from tacitd.model.call_caps import MinuteFull
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer, Why


class CountedModel:
    """Asks another model within the caps, and stores what became of each call."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        """Ask, if the caps allow it."""
        call = self._budget.begin_call(ask)
        if isinstance(call, MinuteFull):
            return NoAnswer(Why.BUDGET, f"{call.calls} calls a minute")
        if isinstance(call, NoAnswer):
            return call
        answer = self._model.ask(ask)
        if isinstance(answer, NoAnswer):
            self._budget.end_call(call, "failed", usd=0.0, reason=str(answer.why))
            return answer
        self._budget.end_call(
            call,
            "answered",
            usd=answer.usd,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            model=answer.model,
            answer=answer.text if ask.about else None,
        )
        return Answer(
            answer.text,
            answer.model,
            answer.usd,
            answer.tokens_in,
            answer.tokens_out,
            answer.seconds,
            str(call),
        )
