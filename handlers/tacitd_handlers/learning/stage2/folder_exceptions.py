"""Whether a folder's line is an exception to a rule of the whole project, or takes the rule's place (SPEC S-24, S-26).

An exception leaves the rule in LEARNED.md. A line that contradicts the rule without limiting itself replaces it, otherwise
both would be loaded in that folder. In doubt the rule stays. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.learning.data_prohibitions import guards_data
from tacitd_handlers.learning.stage2.numbered_facts import FactSources, NumberedFact
from tacitd_handlers.learning.stage2.place import PlacedLine
from tacitd_handlers.learning.stage2.project_view import AGENTS, ROOT_FILES
from tacitd_handlers.shared.text_parts import compose_text, split_parts

_LIMITS = compile_lazily(
    r"\b(?:only (?:in|for|here|inside|within|under|there)|except\w*|unless|here|in (?:this|that) (?:folder|module|package|directory|part)|"
    r"nur (?:in|im|für|hier|dort)|außer|ausnahm\w*|hier|"
    r"seulement (?:dans|pour|ici)|sauf|ici|sol[oa] (?:en|para|aquí)|sólo (?:en|para|aquí)|excepto|excepci\w*|salvo|aquí)\b|"
    r"だけ|のみ|以外|例外|ここ"
)
"""Words that limit a rule to a place."""

_INTO = "in|for|inside|within|under|below|im|für|unter|dans|pour|sous|en|para"
_ARTICLE = "the|our|der|dem|das|den|le|la|el|los|las"
_KIND = r"(?:folder|module|package|director(?:y|ies)|service)\b|ordner|modul|paket|dossier|paquet|carpeta|módulo|フォルダ|モジュール"


def find_exceptions(placed: Iterable[PlacedLine], facts: Sequence[NumberedFact]) -> set[str]:
    """The lines of folders that are exceptions to the line which they name in REPLACES."""
    found: set[str] = set()
    known = FactSources(facts)
    for one in placed:
        if one.path in ROOT_FILES:
            continue
        texts = [one.line, *(fact.text for fact in known.find_facts(one.line, one.item.sources))]
        folder = one.path.removesuffix(f"/{AGENTS}")
        if is_exception(texts, folder, one.item.replaces):
            found.add(one.line)
    return found


def is_exception(texts: Iterable[str], folder: str, old: str) -> bool:
    """Given a folder's line with its facts, and the rule that it names in REPLACES, return whether the rule stays.

    `folder`: relative to the project. A rule that names the folder itself is about the folder, so the line takes its place.
    """
    if guards_data(old):
        return True
    if _names_folder(old, folder):
        return False
    return any(_LIMITS.search(compose_text(text).casefold()) or _names_folder(text, folder) for text in texts)


def _names_folder(text: str, folder: str) -> bool:
    """Whether the text names the folder as a place: "src/bus", "in bus", "the bus module". Its name alone is a word."""
    plain, path = compose_text(text).casefold(), folder.casefold()
    name = r"[-_ ]?".join(map(re.escape, split_parts(path.rsplit("/", 1)[-1])))
    if not name:
        return path in plain
    place = rf"\b(?:{_INTO}) (?:{_ARTICLE} )?[`'\"]?{name}\b|\b{name}(?:/|[`'\"]? ?(?:{_KIND}))|{name}[`'\"]?(?:では|の中|内)"
    return ("/" in path and path in plain) or re.search(place, plain) is not None
