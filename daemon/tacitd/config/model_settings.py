"""The two sections of the configuration for the model: `[claude]` and `[budget]`.

Fields, defaults and allowed values belong here; code that acts on them does not. Every field has a description, because
the configuration reference is generated from it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tacitd.config.types import Duration, Names

_SOURCES = ("user", "project", "local")


def _sources(value: Any) -> Any:
    """`["user", "project"]` is accepted as well as `"user,project"`."""
    return (
        ",".join(value)
        if isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
        else value
    )


def _known_sources(value: str) -> str:
    words = [word.strip() for word in value.split(",") if word.strip()]
    if any(word not in _SOURCES for word in words):
        raise ValueError('it must be "" (none) or a list of user, project, local, joined by commas')
    return ",".join(words)


def _names_of_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not name.isascii() or not name.isidentifier():
            raise ValueError(
                f"{name!r} is not the name of an environment variable (names only, never NAME=value)"
            )
    return names


SettingSources = Annotated[str, BeforeValidator(_sources), AfterValidator(_known_sources)]
Variables = Annotated[Names, AfterValidator(_names_of_variables)]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-][^\x00]*$")]
"""Not empty and not an option: it is one argument on the command line."""


class ClaudeSettings(BaseModel):
    """How Claude Code's command line is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Word = Field(default="claude", description="The program: a name that is looked up, or a path.")
    fast: Word = Field(default="haiku", description="The model for short questions that are often asked.")
    smart: Word = Field(
        default="sonnet", description="The model for what is asked rarely and must be weighed."
    )
    accurate: Word = Field(default="opus", description="The model for what must be judged exactly.")
    pass_env: Variables = Field(
        default=(),
        description="Further environment variables that the client gets, by name: ANTHROPIC_API_KEY or "
        "ANTHROPIC_BASE_URL, for example. An API key is never passed on otherwise.",
    )
    setting_sources: SettingSources = Field(
        default="",
        description='Which of your Claude Code settings the client reads. "user" where an apiKeyHelper or the '
        "settings' own env is how you log in; hooks and MCP servers stay off all the same.",
    )
    timeout: Duration = Field(default=120.0, gt=0, description="A call that takes longer is killed.")


class BudgetSettings(BaseModel):
    """What the model may cost. Checked before each call; above a cap work waits, and nothing is lost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_minute: int = Field(default=12, ge=0, description="Calls within sixty seconds.")
    calls_per_day: int = Field(default=200, ge=0, description="Calls a day, local time; failed ones count.")
    usd_per_day: float = Field(
        default=1.00, ge=0, allow_inf_nan=False, description="Dollars a day, as the client reports."
    )
    usd_per_month: float = Field(default=10.00, ge=0, allow_inf_nan=False, description="Dollars a month.")
