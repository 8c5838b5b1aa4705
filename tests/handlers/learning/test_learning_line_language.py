"""The language in which facts are written."""

from __future__ import annotations

import pytest

from tacitd_handlers.learning.line_language import name_language


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ([], "English"),
        (["pnpm"], "English"),
        (["Use pnpm, never npm", "Write tests before the code"], "English"),
        (["Immer pnpm benutzen, nie npm", "Kommentare nur auf Deutsch schreiben", "Use tabs"], "German"),
        (["Usa siempre pnpm", "No uses nunca npm en este proyecto"], "Spanish"),
        (["テストは必ず先に書く", "pnpmを使う"], "Japanese"),
        (["ქართული ხაზი არის აქ დაწერილი"], "English"),
    ],
)
def test_facts_are_written_as_most_lines_are(lines: list[str], name: str) -> None:
    """S-01: the language of LEARNED.md; English where it is empty or cannot be determined."""
    assert name_language(lines) == name
