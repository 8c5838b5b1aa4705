"""The tools that the plugins bring, over all of them: each has its command, and together they stay small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support_cli import Cli
from tacitd.cli.client_commands import list_interfaces, make_offer
from tacitd.control.protocol import Request
from tacitd.mcp.mcp_server import Offer, answer_request
from tacitd.mcp.tools import describe_tool, run_tool

NEVER = {"accept", "exclude", "hooks", "install", "link", "mcp", "promote", "share", "trust", "uninstall"}
"""Words of commands that are a person's decision alone."""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Offer:
    cli = Cli(tmp_path, monkeypatch, capsys)
    cli.set(USER="dev")
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    made = make_offer()
    assert capsys.readouterr().err == ""
    return made


def ask(offer: Offer, name: str, **arguments: object) -> str:
    said = run_tool(offer.tools[name], arguments)
    assert not said.is_error, said.text
    return said.text


def test_every_tool_has_its_command_and_a_unique_name(offer: Offer) -> None:
    """A tool whose command or parameter is gone would be left out; two of one name would hide each other."""
    declared = [tool.name for _, interface in list_interfaces() for tool in interface.tools]
    assert list(offer.tools) == declared and len(set(declared)) == len(declared) >= 25


def test_what_shows_or_removes_is_listed_once_there_is_data(offer: Offer) -> None:
    """Issue 39 point 12; what adds is listed from the first day, and everything can be called."""

    def list_tools() -> set[str]:
        answer = json.loads(answer_request(offer, Path.cwd(), Request(1, "tools/list", {})))
        return {one["name"] for one in answer["result"]["tools"]}

    before = list_tools()
    assert {"add_lesson", "explain_line"} <= before and not {"search_lessons", "mark_lesson_wrong"} & before
    ask(offer, "add_lesson", when="it fails", do="read the log", because="it says why")
    assert {"search_lessons", "mark_lesson_wrong"} <= list_tools()


def test_what_only_a_person_decides_is_no_tool(offer: Offer) -> None:
    assert {one.tool.name for one in offer.tools.values() if NEVER & set(one.tool.command)} == set()


def test_destructive_tools_say_so(offer: Offer) -> None:
    removing = {name for name, one in offer.tools.items() if one.tool.effect == "removes"}
    words = ("forget", "remove", "wrong", "clear", "delete")
    assert {name for name in offer.tools if any(word in name for word in words)} <= removing


def test_what_is_shown_at_once_is_small(offer: Offer) -> None:
    """Each request carries the tools that are shown at once."""
    documents = {name: len(json.dumps(describe_tool(one))) for name, one in offer.tools.items()}
    at_once = sum(size for name, size in documents.items() if not offer.tools[name].tool.is_rare)
    assert at_once < 12_000 and sum(documents.values()) < 20_000


def test_every_parameter_is_described(offer: Offer) -> None:
    bare = [
        (name, parameter)
        for name, one in offer.tools.items()
        for parameter, kind in one.schema["properties"].items()
        if not kind.get("description") and "enum" not in kind
    ]
    assert bare == []


def test_the_profile_is_read_and_changed(offer: Offer, tmp_path: Path) -> None:
    """Seed 001, SPEC P-18: what an agent sets is `mcp/hook` in the changelog, what it removes for the person `mcp/tool`."""
    ask(offer, "update_profile", path="tools.editor", value="neovim")
    ask(offer, "remember_preference", path="custom.preferences", value="-- short answers")
    assert run_tool(offer.tools["forget_preference"], {"path": "tools.editor"}).is_error
    profile = json.loads(ask(offer, "get_profile"))
    assert (profile["tools"], profile["custom"]) == (
        {"editor": "neovim"},
        {"preferences": ["-- short answers"]},
    )
    ask(offer, "forget_preference", path="tools.editor", confirm=True)
    log = tmp_path / "home/.claude/user-memory/changelog.jsonl"
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["action"], one["source"]) for one in entries] == [
        ("update", "mcp/hook"),
        ("update", "mcp/hook"),
        ("remove", "mcp/tool"),
    ]


def test_a_lesson_is_added_found_and_marked_wrong(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seed 004: from=ai, active at once; its origin is the calling session."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s-1")
    made = json.loads(
        ask(offer, "add_lesson", when="the tests fail", do="read the log", because="it names it")
    )
    assert (made["from"], made["status"]) == ("ai", "active")
    assert "WHEN the tests fail" in ask(offer, "load_lessons")
    assert json.loads(ask(offer, "search_lessons", query="tests"))["lessons"][0]["id"] == made["id"]
    assert json.loads(ask(offer, "explain_line", text="the tests fail"))[0]["sessions"] == ["s-1"]
    ask(offer, "mark_lesson_wrong", id=made["id"], reason="no", confirm=True)
    assert "WHEN" not in ask(offer, "load_lessons")


def test_a_practised_problem_is_recorded(offer: Offer) -> None:
    """Seed 000: a row of the ledger; the review date comes from the rules."""
    given = {
        "problem": "two-sum",
        "pattern": "hash_map",
        "mode": "recall",
        "verdict": "pass",
        "gaps": "edge:empty",
    }
    row = json.loads(
        ask(
            offer,
            "record_practice",
            **given,
            timestamp="2026-02-19T10:00",
            describe=["edge:empty=misses the empty array"],
        )
    )
    assert row["row"]["review"] == "2026-02-24"
    (due,) = json.loads(ask(offer, "list_due_reviews", on="2026-03-01"))
    assert due["problem"] == "two-sum"
    assert json.loads(ask(offer, "review_progress"))["totals"]["rows"] == 1
    wrong = run_tool(offer.tools["record_practice"], {**given, "verdict": "perfect"})
    assert wrong.is_error and "strong_pass" in wrong.text


def test_sessions_need_one(offer: Offer) -> None:
    assert json.loads(ask(offer, "list_sessions")) == []
    said = run_tool(offer.tools["record_decision"], {"decision": "use JWT", "because": "stateless"})
    assert said.is_error and "no session yet" in said.text


def test_topics_are_listed(offer: Offer) -> None:
    assert json.loads(ask(offer, "list_topics"))[0]["title"]
    assert "learn" in ask(offer, "suggest_topics")
    assert "no session is open" in run_tool(offer.tools["answer_tutor"], {"answer": "42"}).text


def test_every_resource_can_be_read(offer: Offer, tmp_path: Path) -> None:
    """The resources are LEARNED.md, the profile, the last session; empty before there is anything."""
    assert set(offer.resources) == {"learned", "profile", "session"}
    (tmp_path / "app" / "LEARNED.md").write_text("# Learned\n- Use pnpm\n")
    ask(offer, "update_profile", path="tools.editor", value="neovim")
    texts = {name: offer.read(one, tmp_path / "app", 1000) for name, one in offer.resources.items()}
    assert (
        "- Use pnpm" in texts["learned"] and "Editor: neovim" in texts["profile"] and texts["session"] == ""
    )
