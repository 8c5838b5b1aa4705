"""Shared code of the `lesson` commands: reporting wrong use, the types of scopes and ids, output. No rules."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tacitd.cli.common import show_argument
from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd_handlers.lessons import scopes
from tacitd_handlers.lessons.lesson_numbers import number_of
from tacitd_handlers.lessons.pattern import PatternError
from tacitd_handlers.lessons.store import LessonStore

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd_handlers.lessons.settings import LessonsSettings

LOST = "the output could not be written"
F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command that prints its usage on stderr and exits with 2 on wrong use (SPEC E-04)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, but always report errors with the usage."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if error.ctx is not None:
                raise
            raise click.UsageError(error.format_message(), ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and convert errors into messages for the person."""
        try:
            return super().invoke(ctx)
        except PatternError as error:
            raise click.UsageError(
                f"this is not a lesson: {error.what}\n{error.show_position()}\n{error.hint}", ctx
            ) from error
        except UsageError as error:
            raise click.UsageError(f"{error.what}\n{error.hint}".strip(), ctx) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            where = error.filename or open_store().directory
            raise FileRefusedError(f"{where}: {error.strerror}", "check its owner and mode") from error


class ScopeType(click.ParamType[str]):
    """A scope: one word in lower case."""

    name = "scope"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Normalise a scope. Exits with 2 if it is invalid."""
        scope = scopes.normalise_scope(value)
        if scope is None:
            better = scopes.scope_of_name(value)
            hint = f"; for example {better}" if better else ""
            self.fail(
                f"“{show_argument(value)}” is not a scope: it is one word of letters, digits and . _ - + : / @ #{hint}",
                param,
                ctx,
            )
        return scope


class LessonIdType(click.ParamType[str]):
    """A lesson's id: `2` or `002` (SPEC E-19)."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the id unchanged. Exits with 2 if it is not a number."""
        if number_of(value) is None:
            shown = show_argument(value)
            self.fail(f"“{shown}” is not a lesson's id: an id is a number, 2 or 002", param, ctx)
        return value


SCOPE, ID = ScopeType(), LessonIdType()


def open_store() -> LessonStore:
    """The store of this process's environment."""
    return LessonStore.from_environ(os.environ)


def load_settings() -> LessonsSettings:
    """The section `lessons` of the configuration. Raises ConfigError."""
    from tacitd.config.settings import load_config
    from tacitd.plugins import find_plugins
    from tacitd.state.paths import config_file
    from tacitd_handlers.lessons.settings import LessonsSettings

    sections: dict[str, type[BaseModel]] = {**find_plugins().collect_sections(), "lessons": LessonsSettings}
    made: LessonsSettings = load_config(config_file(os.environ), os.environ, sections).get_section("lessons")
    return made


def json_option(command: F) -> F:
    """The decorator for `--json`, which every command has."""
    made: F = click.option("--json", "as_json", is_flag=True, help="As JSON, with a schema version.")(command)
    return made


def print_document(document: dict[str, Any]) -> None:
    """Print a JSON document with a schema version on stdout."""
    import json

    print_text(json.dumps({"schema": 1, **document}, ensure_ascii=False, indent=2) + "\n")


def print_text(text: str) -> None:
    """Print data on stdout as UTF-8 in any locale. Raises BrokenPipeError, and TacitdError if it cannot be written."""
    try:
        click.echo(text.encode("utf-8", "replace"), nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TacitdError(f"{LOST}: {error.strerror}") from error


def echo_error(text: str) -> None:
    """Print a message on stderr."""
    click.echo(text, err=True)
