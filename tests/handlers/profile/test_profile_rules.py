"""The profile's lines for every session: from a confidence of 0.3 on, the person's own always, no biography."""

from __future__ import annotations

from pathlib import Path

from tacitd.testing import FakeClock
from tacitd_handlers.profile.parse import parse_finding
from tacitd_handlers.profile.profile_rules import ProfileRules
from tacitd_handlers.profile.store import ProfileStore

DAY = 86_400.0


def make(tmp_path: Path) -> tuple[ProfileRules, ProfileStore, FakeClock]:
    environ = {"HOME": str(tmp_path), "USER_MEMORY_DIR": str(tmp_path / "memory"), "USER": "eve"}
    clock = FakeClock()
    return ProfileRules(environ, clock), ProfileStore.from_environ(environ, clock), clock


def texts(rules: ProfileRules) -> list[str]:
    return [rule.text for rule in rules.list_rules()]


def test_without_a_profile_there_are_no_lines(tmp_path: Path) -> None:
    """Nothing is created by looking."""
    rules, _, _ = make(tmp_path)
    assert texts(rules) == [] and list(tmp_path.iterdir()) == []


def test_lines_are_in_the_seeds_order_without_the_biography(tmp_path: Path) -> None:
    """The order does not depend on when a value was learned."""
    rules, store, _ = make(tmp_path)
    store.set_value("custom.zoo", "yes")
    store.set_value("custom.bar", ["a", "b"])
    store.set_value("bio", "born in Ulm")
    store.learn_finding(parse_finding({"tools": {"editor": "vi"}, "work": {"languages": ["Rust"]}}), "s", "1")
    assert texts(rules) == ["Languages: Rust", "Editor: vi", "custom.bar: a, b", "custom.zoo: yes"]
    assert [rule.by_person for rule in rules.list_rules()] == [False, False, True, True]


def test_a_value_that_faded_below_a_third_is_left_out(tmp_path: Path) -> None:
    """0.3 or more. A person's own value does not decay."""
    rules, store, clock = make(tmp_path)
    store.learn_finding(parse_finding({"tools": {"editor": "vi"}}), "s", "1")
    store.set_value("work.role", "nurse")
    held: list[int] = []
    for day in range(120):
        held += [day] if "Editor: vi" in texts(rules) else []
        assert "Role: nurse" in texts(rules)
        clock.advance(DAY)
    last = held[-1]
    assert held == list(range(last + 1)) and 0 < last < 119
    clock.advance((last - 120) * DAY)
    (vi,) = [one for one in store.read_metadata()["preferences"] if one["path"] == "tools.editor"]
    assert vi["confidence"] == 1.0, "nothing was written"


def test_a_withdrawn_line_is_cleared(tmp_path: Path) -> None:
    """A deletion in the rules file clears that path, learned or the person's own; a second one does nothing."""
    rules, store, _ = make(tmp_path)
    store.learn_finding(parse_finding({"tools": {"editor": "vi"}}), "s", "1")
    store.set_value("work.role", "nurse")
    for path in ("tools.editor", "work.role", "work.role", "nothing.there"):
        rules.withdraw_rule(path)
    assert texts(rules) == []
    assert store.read_metadata()["preferences"] == []
    changelog = (tmp_path / "memory" / "changelog.jsonl").read_text()
    assert changelog.count('"remove"') == 2
