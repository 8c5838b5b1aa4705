"""The sections `[claude]` and `[budget]`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tacitd.config.model_settings import BudgetSettings, ClaudeSettings


def test_defaults_are_those_of_the_documents() -> None:
    """DESIGN "Model": haiku, sonnet, opus; small caps; no key passed, no settings read."""
    claude, budget = ClaudeSettings(), BudgetSettings()
    assert (claude.command, claude.fast, claude.smart, claude.accurate) == (
        "claude",
        "haiku",
        "sonnet",
        "opus",
    )
    assert (claude.pass_env, claude.setting_sources, claude.timeout) == ((), "", 120.0)
    assert (budget.calls_per_day, budget.usd_per_day, budget.usd_per_month) == (200, 1.0, 10.0)
    assert budget.calls_per_minute == 12


@pytest.mark.parametrize("given", ["A,B", ["A", "B"], "A, B"])
def test_names_to_pass_may_be_written_both_ways(given: object) -> None:
    """`TACITD_CLAUDE__PASS_ENV=A,B` and a list in config.toml."""
    assert ClaudeSettings.model_validate({"pass_env": given}).pass_env == ("A", "B")


@pytest.mark.parametrize("given", ["", "user", "user,project", ["user", "local"]])
def test_setting_sources(given: object) -> None:
    """`claude.setting_sources = "user"` serves people whose login is an apiKeyHelper."""
    expected = given if isinstance(given, str) else "user,local"
    assert ClaudeSettings.model_validate({"setting_sources": given}).setting_sources == expected


@pytest.mark.parametrize(
    "wrong",
    [{"setting_sources": "everything"}, {"pass_env": "KEY=value"}, {"fast": "--bare"}, {"fast": ""}, {"command": ""}, {"timeout": "0s"}, {"timeout": "never"}, {"modle": "x"}],
)  # fmt: skip
def test_what_is_not_allowed_is_refused(wrong: dict[str, str]) -> None:
    """A wrong value is refused; a model's name can never become an option."""
    with pytest.raises(ValidationError):
        ClaudeSettings.model_validate(wrong)


@pytest.mark.parametrize("wrong", [{"calls_per_day": -1}, {"usd_per_day": "nan"}, {"usd_per_month": "inf"}])
def test_a_cap_is_a_number(wrong: dict[str, object]) -> None:
    """RELIABILITY 16: a cap that is not a number would not limit anything."""
    with pytest.raises(ValidationError):
        BudgetSettings.model_validate(wrong)
