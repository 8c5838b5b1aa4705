"""The texts of activities about model calls, transactions and commits. The same ones are made live and from the logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from loguru import logger

from tacitd.dispatch.activities import Activity
from tacitd.files.change_view import summarise_transaction
from tacitd.files.transaction_records import Transaction
from tacitd.handler import Commit, Notice, Plugin, load_hook
from tacitd.model.budget import EndedCall
from tacitd.text.dollars import format_dollars


def describe_call(call: EndedCall) -> tuple[str, str, str]:
    """Given a call that ended, return what it was for, the project's name, and its cost and model or why it failed."""
    cost = f"{'~' if call.assumed else ''}{format_dollars(call.usd)}"
    about = ", ".join(
        part for part in (cost, call.model, f"no answer: {call.why}" if call.why else "") if part
    )
    return call.purpose, PurePath(call.project).name, about


def describe_change(done: Transaction) -> tuple[str, str, str]:
    """Given a transaction that changed files, return what it changed, the project's name, and its id."""
    return summarise_transaction(done), done.root.name, f"tacitd show {done.id}"


def describe_commit(plugin: Plugin, commit: Commit) -> Iterator[Activity]:
    """Given a commit of this plugin, yield what its hook `activity` makes of it. A hook that fails is logged."""
    if not plugin.activity:
        return
    try:
        notices: list[Notice] = list(load_hook(plugin.activity)(commit))
    except Exception as error:  # noqa: BLE001  a third-party hook may raise anything
        logger.warning("what {} did cannot be described: {}", plugin.name, type(error).__name__)
        return
    for one in notices:
        yield Activity(commit.at, one.did, one.text, one.where, one.about, plugin.name)
