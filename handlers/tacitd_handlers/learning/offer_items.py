"""Offers of rules for all projects (SPEC S-55) as items that a person decides about. They belong to the person.

`review` asks about an open offer: accepted, it becomes a rule that every session loads; declined, it is not offered again.
`forget` withdraws a rule that was accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacitd.errors import UsageError
from tacitd.handler import Decided, Decision, StoredItem, Tools
from tacitd_handlers.learning.adopted_rules import AdoptedRules
from tacitd_handlers.learning.inventory import Inventory
from tacitd_handlers.learning.person_decisions import clean_text, make_item_id
from tacitd_handlers.shared.equality import normalise_text

OFFER, RULE, PLACE = "rule offer", "rule", "all projects"


def list_offers(inventory: Inventory) -> Iterator[StoredItem]:
    """The open offers as proposals, the accepted ones as stored rules, the declined ones as forgotten. Raises OSError."""
    adopted = AdoptedRules(inventory.state_dir / "handlers" / "learning")
    for one in adopted.list_open_offers(inventory.state):
        why = f"it was learned in {len(one.roots)} projects: {', '.join(map(str, one.roots))}"
        yield StoredItem(make_offer_id(one.line), OFFER, one.line, PLACE, None, "proposed", review=why)
    for line, is_taken in adopted.read_choices().items():
        if is_taken:
            yield StoredItem(make_offer_id(line), RULE, line, PLACE)
        else:
            yield StoredItem(make_offer_id(line), OFFER, line, PLACE, None, "forgotten")


def make_offer_id(line: str) -> str:
    """The id of an offer, which is that of its text after spelling is folded."""
    return make_item_id("rule", normalise_text(line))


def decide_offer(tools: Tools, decision: Decision) -> Decided:
    """Carry out a decision about an offer. Its words are those of the projects' lines, so none are to be purged with it.

    Raises UsageError if no such offer exists or the choice does not apply, OSError, LogDamagedError.
    """
    inventory = Inventory(tools.home.parent.parent, tools.clock, tools.history)
    item = next((one for one in list_offers(inventory) if one.id == decision.id), None)
    if item is None:
        raise UsageError(f"there is no rule {decision.id} any more", "`tacitd adopt` lists the offers")
    adopted, now = AdoptedRules(tools.home), tools.clock.now()
    match decision.choice, item.state:
        case "drop", "forgotten":
            return Decided("it is declined already")
        case "drop", state:
            adopted.add(item.text, take=False, at=now)
            what = "not offered again" if state == "proposed" else "withdrawn, and not offered again"
            return Decided(f"{what}; the lines in the projects stay")
        case "keep", "stored":
            return Decided("it stays")
        case "restore", "forgotten":
            adopted.withdraw(item.text, at=now)
            return Decided("it may be offered again")
        case "keep", "proposed":
            adopted.add(item.text, take=True, at=now)
        case "edit", "proposed" | "stored":
            text = clean_text(decision.text)
            # The line counts as decided first, so that a crash between the two records does not take both wordings.
            adopted.add(item.text, take=False, at=now)
            adopted.add(text, take=True, at=now)
        case choice, state:
            raise UsageError(f"{choice} does not apply: the offer is {state}")
    return Decided("a rule for all projects now: every session loads it")
