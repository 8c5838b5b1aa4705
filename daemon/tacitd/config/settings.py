"""The configuration: the settings, their defaults, and the errors for wrong values.

No configuration is needed. It comes from `config.toml` and from `TACITD_*` variables with `__` between levels
(`TACITD_EXTRACTION__SETTLE=2s`); a variable overrides the file. Plugins add sections. Paths (`TACITD_STATE_DIR`,
`TACITD_CONFIG`, `TACITD_SOCKET`) do not belong here: `state/paths.py` finds them without pydantic, for the fast commands.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    create_model,
    field_validator,
)

from tacitd.config.durations import format_duration, parse_duration
from tacitd.errors import ConfigError

__all__ = ["Duration", "Names"]  # for plugins; the rest is the daemon's

PREFIX = "TACITD_"
ELSEWHERE = frozenset({"STATE_DIR", "CONFIG", "SOCKET", "CHILD", "STAND_IN", "DEBUG"})
"""Variables with the prefix that are not settings: for paths, the model's child process, and tests."""


def _names(value: Any) -> Any:
    """`"A,B"` (as in an environment variable) and a JSON list in a text become `("A", "B")`; a list stays unchanged."""
    if isinstance(value, str):
        if value.startswith("["):
            return json.loads(value)  # ValueError: pydantic reports it
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return value


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
]
"""Seconds as a float, written `20s`, `30m`, `6h`, `2d`, `500ms`, or as a number; in JSON as `30m` again."""

Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Several strings: a list in config.toml, `A,B` in a variable."""


def _names_of_variables(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not name.isascii() or not name.isidentifier():
            raise ValueError(f"{name!r} is not the name of an environment variable")
    return names


Variables = Annotated[Names, AfterValidator(_names_of_variables)]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-][^\x00]*$")]
"""Not empty and not an option: it is one argument on the command line."""


class Section(BaseModel):
    """A part of the configuration. Unknown keys are refused, because they are probably misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ClaudeSettings(Section):
    """How Claude Code's command line is called."""

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
    setting_sources: Literal["", "user"] = Field(
        default="",
        description='Whether the client reads your Claude Code settings: "user" where an apiKeyHelper or the settings\' own env '
        "is how you log in; hooks and MCP servers stay off all the same.",
    )
    timeout: Duration = Field(default=120.0, gt=0, description="A call that takes longer is killed.")


class BudgetSettings(Section):
    """What the model may cost. Checked before each call; above a cap work waits, and nothing is lost."""

    calls_per_minute: int = Field(default=12, ge=0, description="Calls within sixty seconds.")
    calls_per_day: int = Field(default=200, ge=0, description="Calls a day, local time; failed ones count.")
    usd_per_day: float = Field(
        default=1.00, ge=0, allow_inf_nan=False, description="Dollars a day, as the client reports."
    )
    usd_per_month: float = Field(default=10.00, ge=0, allow_inf_nan=False, description="Dollars a month.")


class SessionSettings(Section):
    """When a session counts as over."""

    idle: Duration = Field(
        default=1800.0, gt=0, description="A session without a new record for this time has ended."
    )


class ProjectSettings(Section):
    """Where tacitd may write."""

    write: Literal["local", "shared", "off"] = Field(
        default="local",
        description="local: written files are hidden from git by .git/info/exclude. shared: they are not hidden. "
        "off: nothing is written in any project.",
    )
    exclude: Names = Field(
        default=(), description="Directories that are not projects: paths or patterns, `~` allowed."
    )


class DispatchSettings(Section):
    """How failed work is tried again."""

    first_pause: Duration = Field(
        default=30.0, gt=0, description="The back-off after a first failure; each next one is 4 times longer."
    )
    longest_pause: Duration = Field(default=21600.0, gt=0, description="The longest back-off.")


class LogSettings(Section):
    """tacitd's own log."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="The lowest level that is logged."
    )


class Config(Section):
    """The engine's sections. `load_config` adds the plugins' sections. Frozen."""

    claude: ClaudeSettings = Field(default_factory=ClaudeSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    session: SessionSettings = Field(default_factory=SessionSettings)
    projects: ProjectSettings = Field(default_factory=ProjectSettings)
    dispatch: DispatchSettings = Field(default_factory=DispatchSettings)
    log: LogSettings = Field(default_factory=LogSettings)
    directives: Names = Field(
        default=(
            "~/.agents/docs/development/coding-directives.md",
            "~/.agents/docs/development/testing-directives.md",
        ),
        description="Documents that apply to every project: their content is known and never learned again.",
    )

    @field_validator("directives")
    @classmethod
    def _absolute(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not (name.startswith(("/", "~"))):
                raise ValueError(f"{name!r} is not an absolute path (it may begin with ~)")
        return names

    def list_directives(self, home: Path) -> list[Path]:
        return [home / name[2:] if name.startswith("~/") else Path(name) for name in self.directives]

    def get_section(self, name: str) -> Any:
        """The section of this name: an instance of the plugin's settings model."""
        return getattr(self, name)


def load_config(
    file: Path,
    environ: Mapping[str, str],
    sections: Mapping[str, type[BaseModel]] | None = None,
    *,
    broken: bool = False,
) -> Config:
    """Read the file and the variables; a missing file is empty. `sections`: the plugins' models by section
    name. `broken`: a plugin could not be loaded, so an unknown section may be its own and is ignored. Raises
    ConfigError with the key, the value, and what is allowed."""
    table, known = _toml(file), {*Config.model_fields, *(sections or {})}
    if broken:
        table = {name: value for name, value in table.items() if name in known}
    else:
        _refuse_unknown(environ, known)
    made: type[Config] = Config
    if sections:
        fields: dict[str, Any] = {name: (one, Field(default_factory=one)) for name, one in sections.items()}
        made = create_model("Config", __base__=Config, **fields)
    try:
        return made.model_validate(_add_variables(table, environ, known))
    except ValidationError as error:
        raise _refused(error, file, environ) from None


def _toml(file: Path) -> dict[str, Any]:
    try:
        if file.is_fifo():  # opening it would wait for whoever writes to it
            raise ConfigError(f"{file} cannot be read: it is a pipe, not a file", "remove it")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if not file.is_symlink():
            return {}
        what, hint = (
            f"is a link to {file.readlink()}, which does not exist",
            "make that file, or remove the link",
        )
    except ValueError as error:
        what, hint = f"is not TOML: {error}", "fix the line that it names, or remove the file"
    except OSError as error:
        what, hint = f"cannot be read: {error.strerror}", "check its owner and mode, and that it is a file"
    raise ConfigError(f"{file} {what}", hint)


def _add_variables(table: Mapping[str, Any], environ: Mapping[str, str], known: Set[str]) -> dict[str, Any]:
    """The file's table with what the variables set. Values are text, which the models convert."""
    merged = dict(table)
    for name in sorted(environ, key=lambda name: "__" in name):
        section, separator, key = name[len(PREFIX) :].lower().partition("__")
        if not name.upper().startswith(PREFIX) or section not in known:
            continue
        values = merged.get(section, {}) if separator else None
        # A section that has a value of its own is refused with it.
        merged[section] = (
            {**values, key: environ[name]} if isinstance(values, Mapping) else values or environ[name]
        )
    return merged


def _refuse_unknown(environ: Mapping[str, str], known: Set[str]) -> None:
    """Raise ConfigError for a variable whose section is unknown: a misspelt one would silently have no effect."""
    for name in environ:
        setting = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or setting in ELSEWHERE:
            continue
        if setting.split("__")[0].lower() not in known:
            allowed = ", ".join(sorted(PREFIX + k.upper() for k in known))
            raise ConfigError(f"{name} is not a setting of tacitd", f"the sections are: {allowed}")


def _refused(error: ValidationError, file: Path, environ: Mapping[str, str]) -> ConfigError:
    """The first error, with the value as it was written, and the variable or file."""
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    name = PREFIX + key.upper().replace(".", "__")
    variable = next((one for one in environ if one.upper() == name), None)
    value = repr(first["input"] if variable is None else environ[variable])
    where, named = (str(file), key) if variable is None else (variable, f"{variable} ({key})")
    if first["type"] == "extra_forbidden":
        hint = f"`tacitd config show` lists all settings; correct {where}"
        return ConfigError(f"{named} = {value} is not a setting of tacitd", hint)
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "model_type":
        message = "this is a section, not a setting"
    hint = f"correct it in {where}" + (f", or set {name}" if variable is None else "")
    return ConfigError(f"{named} = {value} is not allowed: {message}", hint)


def list_settings(config: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield every setting as (key, value, description); keys have the form `section.name`."""
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            yield from list_settings(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value, field.description or ""


def format_setting(config: Config, key: str) -> str:
    """A setting's value as TOML, durations as `30m`. JSON serves as TOML, except for `null`: not set."""
    section, _, name = key.rpartition(".")
    of: BaseModel = config.get_section(section) if section else config
    return json.dumps(of.model_dump(mode="json", include={name})[name], ensure_ascii=False)
