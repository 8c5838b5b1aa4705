"""`tacitd profile …`: arguments, output and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from click.testing import Result

from support_profile import DAY, Box
from tacitd.errors import TacitdError
from tacitd_handlers.profile import cli

Run = Callable[..., Result]


@pytest.fixture
def run(box: Box) -> Run:
    return partial(box.invoke, cli.profile)


def test_odd_keys_are_shown_escaped(run: Run, box: Box) -> None:
    """Half of a character cannot be printed, and a control character must not reach the terminal."""
    box.put("profile.json", {"custom": {"\ud801": "a", "\x1b[31mred": "b"}})
    for command in ("show", "meta"):
        shown = run(command).stdout
        assert "custom.\\ud801" in shown and "custom.\\x1b[31mred" in shown and "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["add", "work.role", "x"], "work.languages"),
        (["add", "work.colour", "x"], "work.languages"),
        (["add", "custom..x", "x"], "tacitd profile add"),
        (["add", "interests", " "], "tacitd profile add"),
        (["set", "work.colour", "red"], "work.role"),
        (["set", "userId", "x"], "bio"),
        (["set", "custom.", "x"], "custom"),
        (["set", "custom.x..y", "x"], "custom"),
        (["set", "codePreferences.tone", "rude"], "neutral"),
        (["set", "work.languages", "[1]"], "correct it"),
        (["set", "work.role", " "], "remove"),
        (["set", "custom.x", "null"], "remove"),
        (["remove", "work.role"], "show"),
        (["remove", "userId"], "show"),
    ],
)
def test_wrong_use_writes_nothing(run: Run, box: Box, arguments: list[str], hint: str) -> None:
    """SPEC P-06: an error with a hint of what is allowed."""
    with pytest.raises(TacitdError) as refused:
        run(*arguments)
    assert hint in refused.value.hint
    assert not (box.directory / "profile.json").exists()


def test_meta_shows_days_until_decay(run: Run, box: Box) -> None:
    """SPEC P-13, P-17: days until removal; a person's own value has none; a bar is printed on a terminal only."""
    assert run("meta").stdout == ""
    box.learn(tools__editor="vi")
    run("set", "bio", "x")
    box.clock.advance(30 * DAY)
    found = {one["path"]: one for one in json.loads(run("meta", "--json").stdout)}
    assert found["bio"]["own"]
    assert found["tools.editor"]["confidence"] == pytest.approx(0.5, rel=1e-6)
    assert found["tools.editor"]["days"] == pytest.approx(69.66, abs=0.01)
    text = run("meta").stdout
    assert text.splitlines()[:2] == [
        "PATH          CONFIDENCE  REMOVED IN  SEEN",
        "tools.editor  0.50        69.7 d      1 time",
    ]
    assert "yours: does not decay" in text


def test_meta_and_status_show_what_is_the_persons(run: Run, box: Box) -> None:
    """SPEC P-17: which values are the person's."""
    box.learn(tools__editor="vim", interests=("chess",))
    box.edit(lambda document: document.update(tools={"editor": "emacs"}, interests=["chess", "tea"])).notice()
    box.learn(tools__editor="helix")
    box.no_longer(interests=("tea",))
    rows = {one["path"]: one for one in json.loads(run("meta", "--json").stdout)}
    assert rows["tools.editor"]["own"]
    assert rows["interests"]["ownElements"] == ["tea"]
    _, first, second = run("meta").stdout.splitlines()
    assert first.endswith("yours: does not decay") and second.endswith("yours: tea")
    assert box.bench.status_lines == ["1 learned, yours: interests, tools.editor"]
