"""What the commands of `lesson` share: how wrong use is told, scopes and ids on the command line, where output goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tacitd.errors import FileRefusedError, TacitdError, UsageError
from tacitd_handlers.lessons import scopes
from tacitd_handlers.lessons.folding import number_of
from tacitd_handlers.lessons.pattern import PatternError
from tacitd_handlers.lessons.quick import LOST
from tacitd_handlers.lessons.store import Store

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tacitd_handlers.lessons.settings import LessonsSettings

F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose wrong use is told with its usage on stderr and ends with 2 (SPEC E-04)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but always with the usage."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if error.ctx is not None:
                raise
            raise click.UsageError(error.format_message(), ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; what cannot be read or written is told in a sentence."""
        try:
            return super().invoke(ctx)
        except PatternError as error:
            raise click.UsageError(
                f"this is no lesson: {error.what}\n{error.shown()}\n{error.hint}", ctx
            ) from error
        except UsageError as error:
            raise click.UsageError(f"{error.what}\n{error.hint}".strip(), ctx) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            where = error.filename or store().directory
            raise FileRefusedError(f"{where}: {error.strerror}", "check its owner and mode") from error


class Scope(click.ParamType[str]):
    """A scope: one word, in small letters."""

    name = "scope"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Given what was typed, return the scope. Ends with 2 for what cannot be one."""
        scope = scopes.folded(value)
        if scope is None:
            better = scopes.of_name(value)
            hint = f"; {better} would be one" if better else ""
            self.fail(
                f"{value!r} is no scope: one word of letters, digits and . _ - + : / @ #{hint}", param, ctx
            )
        return scope

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """The scopes that there are."""
        from click.shell_completion import CompletionItem

        known = dict.fromkeys(["global", *store().index().scopes()])
        return [CompletionItem(scope) for scope in known if scope.startswith(incomplete)]


class Id(click.ParamType[str]):
    """A lesson's id: `2` or `002` (SPEC E-19)."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Given what was typed, return it. Ends with 2 for what is no number."""
        if number_of(value) is None:
            self.fail(f"{value!r} is no id of a lesson: an id is a number, 2 or 002", param, ctx)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """The lessons in force."""
        from click.shell_completion import CompletionItem

        return [
            CompletionItem(one.id, help=one.text)
            for one in store().folded().active()
            if one.id.startswith(incomplete)
        ]


SCOPE, ID = Scope(), Id()


def store() -> Store:
    """The lessons of this process's environment."""
    return Store.of(os.environ)


def settings() -> LessonsSettings:
    """The section `lessons` of the configuration. Raises ConfigError."""
    from tacitd.config import load
    from tacitd.paths import config_file
    from tacitd.slices import find
    from tacitd_handlers.lessons.settings import LessonsSettings

    sections: dict[str, type[BaseModel]] = {**find().sections(), "lessons": LessonsSettings}
    made: LessonsSettings = load(config_file(os.environ), os.environ, sections).section("lessons")
    return made


def json_option(command: F) -> F:
    """`--json`, as every command has it."""
    made: F = click.option("--json", "as_json", is_flag=True, help="As JSON, with a schema version.")(command)
    return made


def document(said: dict[str, Any]) -> None:
    """A document on stdout, as JSON."""
    import json

    put(json.dumps({"schema": 1, **said}, ensure_ascii=False, indent=2) + "\n")


def put(text: str) -> None:
    """Data, to stdout, as UTF-8 whatever the locale. Raises BrokenPipeError, and TacitdError where it is lost."""
    try:
        click.echo(text.encode("utf-8", "replace"), nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TacitdError(f"{LOST}: {error.strerror}") from error


def talk(text: str) -> None:
    """To the person, on stderr."""
    click.echo(text, err=True)
