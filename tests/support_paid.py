"""A handler that calls a model with the real budget, for tests of what is paid for and how often."""

from __future__ import annotations

from dataclasses import dataclass

from support_engine import Scripted, prompts_of
from tacitd.config.settings import Config
from tacitd.events import Event, TranscriptGrew
from tacitd.handler import Done, Later, Outcome, Rejected, Tools
from tacitd.model.budget import Budget
from tacitd.model.call_caps import make_call
from tacitd.model.port import Answer, Model, ModelRequest, NoAnswer, Why


@dataclass
class Paid:
    """A model whose calls are recorded in the real budget."""

    budget: Budget

    def ask(self, ask: ModelRequest) -> Answer | NoAnswer:
        call = self.budget.begin_call(make_call(ask))
        if not isinstance(call, int):
            return call if isinstance(call, NoAnswer) else NoAnswer(Why.BUDGET, "the minute is full")
        self.budget.end_call(call, "answered", usd=0.001)
        return Answer("well", call=str(call))


def paid(config: Config, budget: Budget) -> Model:
    return Paid(budget)


class Asking(Scripted):
    """Calls the model for each prompt and follows its script. Rejects a prompt whose call was begun twice."""

    def handle(self, event: Event, tools: Tools) -> Outcome:
        if not isinstance(event, TranscriptGrew):
            return Done()
        answer = tools.model.ask(ModelRequest("?", "fast", "k", parts=tuple(prompts_of(event))))
        if isinstance(answer, NoAnswer):
            return Rejected(str(answer.why)) if answer.why is Why.REPEATED else Later(answer.detail)
        return super().handle(event, tools)
