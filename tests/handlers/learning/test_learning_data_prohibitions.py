"""Lines that protect data (SPEC S-54)."""

from __future__ import annotations

import pytest

from tacitd_handlers.learning.data_prohibitions import guards_data


@pytest.mark.parametrize(
    "line",
    [
        "Never drop tables in production",
        "Do not run migrations against prod",
        "Don't touch the production database",
        "Never force-push to main",
        "Keep the .env file out of git",
        "Never log customer emails",
        "Ask before deleting files",
        "Back up the tables before a migration",
        "Production is read-only",
        "Niemals die Produktionsdatenbank löschen",
        "Vor dem Löschen von Dateien nachfragen: nie ohne Bestätigung löschen",
        "Ne supprime jamais de données sans demander",
        "Nunca borres datos de producción",
        "本番DBを削除しない",
    ],
)
def test_a_prohibition_that_guards_data(line: str) -> None:
    assert guards_data(line)


@pytest.mark.parametrize(
    "line",
    [
        "Use pnpm, not npm",
        "No emojis in answers",
        "Never mock the database in tests",
        "Use Postgres, not SQLite",
        "Delete unused imports",
        "Deploy to production with make deploy",
        "Never use var; delete dead code",
        "Kurze Antworten, keine Emojis",
        "絵文字を使わない",
    ],
)
def test_another_line(line: str) -> None:
    assert not guards_data(line)
