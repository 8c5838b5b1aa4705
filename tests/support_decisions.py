"""A bench for a person's decisions about what was learned: the items as commands see them, and the hook that decides."""

from __future__ import annotations

from typing import Literal

from support_learning import Bench
from tacitd.files.purge import purge_texts
from tacitd.handler import Decided, Decision, StoredItem
from tacitd_handlers.learning.inventory import Inventory
from tacitd_handlers.learning.line_decisions import decide_line
from tacitd_handlers.learning.line_items import list_project
from tacitd_handlers.learning.offer_items import list_offers
from tacitd_handlers.learning.purged_files import purge_words


def list_items(bench: Bench) -> list[StoredItem]:
    """The items of the bench's project."""
    return list(list_project(Inventory(bench.state, bench.clock), bench.root))


def list_person_items(bench: Bench) -> list[StoredItem]:
    """The items that belong to the person."""
    return list(list_offers(Inventory(bench.state, bench.clock)))


def find(bench: Bench, text: str, state: str = "") -> StoredItem:
    """The one item with this text (and in this state)."""
    (found,) = [one for one in list_items(bench) if one.text == text and state in ("", one.state)]
    return found


def decide(
    bench: Bench,
    item: StoredItem,
    choice: Literal["keep", "drop", "edit", "restore"],
    text: str = "",
    *,
    purge: bool = False,
) -> Decided:
    """Carry out a decision as the daemon does, and run the work that it posted."""
    bench.clock.advance(1.0)
    done = decide_line(bench.handler, bench.tools(), Decision(item.id, choice, item.root, text))
    if purge:
        purge_texts(bench.state, done.texts)
        bench.log.purge(done.texts)
        purge_words(bench.handler, bench.tools(), item.id, done.texts)
    bench.play_posted()
    notice(bench)
    return done


def notice(bench: Bench) -> None:
    """The engine checks the sources once a minute; each that changed becomes an event."""
    bench.clock.advance(60.0)
    for path in bench.handler.sources(bench.project):
        bench.changed(path)
