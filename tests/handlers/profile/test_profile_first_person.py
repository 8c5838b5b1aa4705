"""Whether a message speaks of the person who wrote it."""

from __future__ import annotations

import pytest

from tacitd_handlers.profile import profile_extension
from tacitd_handlers.profile.first_person import speaks_in_first_person


@pytest.mark.parametrize(
    "text",
    [
        "I'm a backend developer",
        "I’ve used Go for years",
        "use my editor settings",
        "Ich arbeite mit Kotlin",
        "j'utilise helix",
        "Soy desarrollador de Rust",
        "trabajo con Django",
        "私はバックエンド開発者です",
        "Goで書いています",
        "저는 자바 개발자입니다",
        "я пишу на Go",
        "I need a function that parses dates. I'm new to Rust",
        "I think in types, coming from Haskell",
        "I don't know Kubernetes well",
        "I don't know what a monad is",
        "I don't know how generics work",
        "I'd rather have boring code",
        "ich will das so, ich komme aus der Java-Welt",
        "seit zehn Jahren habe ich mit Java gearbeitet",
        "me gusta más Go",
        "im red-green colourblind, use names for colours",
        "mir fehlt die Erfahrung mit C++",
    ],
)
def test_a_person_who_speaks_of_themselves_is_asked_about(text: str) -> None:
    """SPEC P-30: in each language; where pronouns are left out, the answer is yes."""
    assert speaks_in_first_person(["fix the test", text]) and profile_extension.is_asked([text])


@pytest.mark.parametrize(
    "text",
    [
        "we stay with pnpm",
        "fix the failing test in parser.py",
        "nein, nimm pnpm, ja, im Modul auth",
        "wait 10 min, then deploy to eu-west-1",
        "usa pnpm en vez de npm",
        "rename `i` to `index`",
        "I need a function that parses dates",
        "i need you to look at the parser",
        "I'd like to see the diff first",
        "show me the failing test, and tell me why",
        "I told you: not in drivers!",
        "I think the cache is stale",
        "can I run this without docker?",
        "I see an error in CI",
        "I don't know why it fails, and I don't know what to do or how to fix it",
        "I don't know what's wrong",
        "i dont know what went wrong",
        "the i2c driver hangs, set it to 512Mi, and i18n/pt stays",
        "ich brauche eine Funktion für Datumswerte",
        "das hab ich schon gesagt: runden nur in pricing",
        "zeig mir den Diff",
        "quiero un test para esto, y dime por qué falla",
        "necesito una función que valide fechas",
        "montre-moi le diff, je veux un test",
        "```\nfor i in items: print(my)\n```\nmake it faster",
        "",
    ],
)
def test_a_message_about_the_project_is_not(text: str) -> None:
    """SPEC P-30: "we" is the project or the team, and code is no person."""
    assert not speaks_in_first_person([text]) and not profile_extension.is_asked([text])
