"""Commands that run without click, whose import takes longer than most of what they do.

Such a command is declared as with click. `read_arguments` reads the usual forms of arguments; for every other form, for help and
for errors, `make_click` makes the click command of it. Both call the same function, which returns the exit code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tacitd.cli.command_table import COMMANDS, load_plugin_rows

if TYPE_CHECKING:
    import click

_F = TypeVar("_F", bound=Callable[..., Any])
PAGER_OPTION = "--no-pager"
BELOW: Mapping[tuple[str, ...], str] = {("config", "show"): "tacitd.cli.config_show_command:show"}
"""The answered commands that are below another one."""


class ValueType:
    """What a value of an argument is."""

    def __init__(self, make_click: Callable[[], Any], read: Callable[[str], Any]) -> None:
        self.make_click = make_click
        """The type for click."""
        self.read = read
        """Reads a value as click does. Raises ValueError if click must read it, perhaps to report an error."""


def whole_number(least: int, most: int | None = None) -> ValueType:
    """A whole number from `least` to `most`."""

    def make_click() -> Any:
        import click

        return click.IntRange(least, most)

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() else least - 1
        if number < least or (most is not None and number > most):
            raise ValueError(text)
        return number

    return ValueType(make_click, read)


def one_of(*texts: str) -> ValueType:
    """One of these texts."""

    def make_click() -> Any:
        import click

        return click.Choice(texts)

    def read(text: str) -> str:
        return texts[texts.index(text)]

    return ValueType(make_click, read)


def _make_click_path() -> Any:
    import click

    return click.Path(path_type=Path)


def _read_path(text: str) -> Path:
    path = Path(text)
    try:
        path.stat()
    except FileNotFoundError:
        return path
    except OSError as error:  # too long a name, a directory that only others may search
        raise ValueError(text) from error
    if not os.access(path, os.R_OK):
        raise ValueError(text)
    return path


FILE_PATH = ValueType(_make_click_path, _read_path)
"""The path of a file or a directory, which can be read if it exists."""


class CommandParameter:
    """A declared argument or option: what click calls it, its names, and its other arguments for click."""

    def __init__(self, kind: str, names: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.kind = kind
        self.names = names
        self.settings = settings

    @property
    def name(self) -> str:
        """The name with which the function gets the value."""
        given = [one for one in self.names if not one.startswith("-")]
        long = [one for one in self.names if one.startswith("--")]
        return given[0] if given else long[0].removeprefix("--").replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Whether it has no value."""
        return "is_flag" in self.settings

    @property
    def default(self) -> Any:
        """The value without an argument."""
        usual: Any = False if self.is_flag else () if "nargs" in self.settings else None
        return self.settings.get("default", usual)

    def read_value(self, text: str) -> Any:
        """Return the value of an argument's text. Raises ValueError."""
        kind = self.settings.get("type")
        return text if kind is None else kind.read(text)

    def decorate(self, command: Any) -> Any:
        """Add this to a function that becomes a click command."""
        import click

        kind = self.settings.get("type")
        settings = self.settings if kind is None else {**self.settings, "type": kind.make_click()}
        return getattr(click, self.kind)(*self.names, **settings)(command)


def argument(name: str, **settings: Any) -> Callable[[_F], _F]:
    """As `click.argument`; `type` is a `ValueType`."""
    return _declare(CommandParameter("argument", (name,), settings))


def option(*names: str, **settings: Any) -> Callable[[_F], _F]:
    """As `click.option`; `type` is a `ValueType`. `is_flag` is given only for flags, and only as True."""
    return _declare(CommandParameter("option", names, settings))


def add_pager_option(command: _F) -> _F:
    """The decorator of the option `--no-pager`; the command gets `no_pager` for `echo_paged`."""
    about = "Print long output without a pager (PAGER, TACITD_PAGER)."
    return option(PAGER_OPTION, "no_pager", is_flag=True, help=about)(command)


def _declare(parameter: CommandParameter) -> Callable[[_F], _F]:
    def declare(function: _F) -> _F:
        # Decorators run from the last to the first.
        vars(function).setdefault("parameters", []).insert(0, parameter)
        return function

    return declare


class AnsweredCommand:
    """A command that the daemon may run in a thread for another process, which may run it again.

    So it changes nothing that counts, and takes its surroundings from `caller.py`.
    """

    def __init__(self, function: Callable[..., int | None], epilog: str) -> None:
        self.function = function
        self.parameters: list[CommandParameter] = vars(function).get("parameters", [])
        self._epilog = epilog

    def make_click(self) -> click.Command:
        """The same as a click command."""
        import click

        def call(**values: Any) -> int | None:
            return self.function(**values)

        call.__name__, call.__doc__ = self.function.__name__, self.function.__doc__
        for parameter in reversed(self.parameters):
            call = parameter.decorate(call)
        return click.command(epilog=self._epilog)(call)

    def read_arguments(self, words: Sequence[str]) -> dict[str, Any] | None:
        """The values for the function. None if click must read these arguments: an unusual form, a request for help, an error."""
        options = {name: one for one in self.parameters if one.kind == "option" for name in one.names}
        values: dict[str, Any] = {}
        free: list[str] = []
        rest = iter(words)
        try:
            for word in rest:
                if not word:
                    return None
                if not word.startswith("-"):
                    free.append(word)
                    continue
                name, equals, text = word.partition("=")
                found = options[name]
                if found.name in values or (equals and (found.is_flag or not name.startswith("--"))):
                    return None
                if found.is_flag:
                    values[found.name] = True
                    continue
                text = text if equals else next(rest)
                if not text or text.startswith("-"):
                    return None
                values[found.name] = found.read_value(text)
            values |= self._read_free(free)
        except (KeyError, ValueError, StopIteration):
            return None
        return {one.name: one.default for one in self.parameters} | values

    def _read_free(self, words: Sequence[str]) -> dict[str, Any]:
        """The values of the arguments that are not options. Raises ValueError if there are too few or too many."""
        values: dict[str, Any] = {}
        rest = list(words)
        for one in self.parameters:
            if one.kind == "option":
                continue
            if not rest and one.settings.get("required", "nargs" not in one.settings):
                raise ValueError(one.name)
            if "nargs" in one.settings:  # -1, and the last one
                values[one.name] = tuple(map(one.read_value, rest))
                rest = []
            elif rest:
                values[one.name] = one.read_value(rest.pop(0))
        if rest:
            raise ValueError(rest[0])
        return values


def answered_command(*, epilog: str) -> Callable[[Callable[..., int | None]], AnsweredCommand]:
    """The decorator of a function that is such a command. It is named after the function, whose docstring is its help."""

    def make(function: Callable[..., int | None]) -> AnsweredCommand:
        return AnsweredCommand(function, epilog)

    return make


def locate_answered(arguments: Sequence[str]) -> tuple[tuple[str, ...], str] | None:
    """The words that name a command, and where it is; None if no command has this name, or others are below it.

    Raises what `load_plugin_rows` raises.
    """
    path = tuple(arguments[:2])
    if path in BELOW:
        return path, BELOW[path]
    path = path[:1]
    if any(below[:1] == path for below in BELOW):
        return None
    row = COMMANDS.get(path[0]) or load_plugin_rows().get(path[0])
    return None if row is None else (path, row[0])


def load_answered(where: str) -> AnsweredCommand | None:
    """Import the command; None if it is another kind of command. Raises what importing a plugin's command raises."""
    module, _, name = where.partition(":")
    found = getattr(import_module(module), name)
    return found if isinstance(found, AnsweredCommand) else None
