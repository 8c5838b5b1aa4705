"""Lines that protect data (SPEC S-54)."""

from __future__ import annotations

import pytest

from tacitd_handlers.learning.data_prohibitions import guards_data, may_be_replaced


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
        "Run migrations only after a backup",
        "Don't touch data/raw",
        "Always ask me before you touch the billing table",
        "Leave the users table alone",
        "Backups must run before each migration",
        "Do not use git clean -fdx",
        "Keep the audit log append-only",
        "Only Anna may change the ledger schema",
        "Non cancellare mai la tabella",
        "Nunca apague o banco",
        "Não altere os dados de produção",
        "不要删除生产数据",
        "迁移前先备份",
        "Никогда не удаляй базу",
        "Не трогай данные без бэкапа",
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
        "Only write tests for public functions",
        "Don't change the public names",
        "Non usare npm",
        "Não use npm",
        "Не используй npm",
        "不要使用 npm",
    ],
)
def test_another_line(line: str) -> None:
    assert not guards_data(line)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("Use Postgres tables in production", False),
        ("Use pnpm", False),
        ("Drop tables in production with make drop", True),
        ("Never drop or truncate tables in production", True),
    ],
)
def test_what_a_prohibition_makes_way_for(new: str, expected: bool) -> None:
    assert may_be_replaced("Never drop tables in production", new) is expected
    assert may_be_replaced("Use npm", new)
