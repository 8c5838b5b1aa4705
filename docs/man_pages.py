"""The manual pages, from the help texts: `man tacitd`, `man tacitd-undo`, `man lesson`.

Pure: click commands in, man(7) source out. generate.py writes the pages to docs/man, from where the wheel takes them to
share/man/man1. A page has neither a date nor a version, so that it only changes when a help text does
(`mandoc -T lint` warns of the missing date, and of nothing else).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

WIDTH = 10_000
"""Columns: click must not wrap what man wraps."""
NAMES = ["-h", "--help"]
EXIT_CODES = (
    ("0", "Done."),
    ("1", "It failed."),
    ("2", "A usage error."),
    ("69", "Another daemon runs, or none does."),
    ("75", "Something is parked or waits."),
    ("78", "The configuration is wrong."),
)


def make_context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """Return a context in which click wraps nothing."""
    return click.Context(
        command,
        parent=parent,
        info_name=name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=NAMES,
    )


def format_page(command: click.Command, context: click.Context, also: Sequence[str] = ()) -> str:
    """Return the page of a command, with its subcommands. `also`: names of pages for SEE ALSO."""
    title = context.command_path.replace(" ", "-")
    first, rest = _split_help(command)
    lines = [
        '.\\" Written by docs/generate.py. Change the source, not this page.',
        f'.TH {_quote(title.upper())} 1 "" "tacitd" "tacitd"',
        ".SH NAME",
        f"{_escape(title)} \\- {_escape(first.rstrip('.'))}",
        ".SH SYNOPSIS",
        *_format_usage(command, context),
    ]
    if rest:
        lines += [".SH DESCRIPTION", *_format_paragraphs(rest)]
    lines += [".SH OPTIONS", *_format_options(command, context)]
    if isinstance(command, click.Group):
        lines += [".SH COMMANDS", *_format_commands(command, context)]
    lines += _format_examples(command)
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", f".B {code}", meaning]
    if also:
        lines += [".SH SEE ALSO", *(f".BR {_escape(name)} (1)" for name in also)]
    return "\n".join(lines) + "\n"


def format_overview(
    program: click.Command, context: click.Context, groups: Sequence[tuple[str, Sequence[tuple[str, str]]]]
) -> str:
    """Return the page of the program itself, whose commands have pages of their own.

    `groups`: by group, each command's name and line of help.
    """
    lines = [
        '.\\" Written by docs/generate.py. Change the source, not this page.',
        '.TH "TACITD" 1 "" "tacitd" "tacitd"',
        ".SH NAME",
        f"tacitd \\- {_escape((program.help or '').rstrip('.'))}",
        ".SH SYNOPSIS",
        *_format_usage(program, context),
        ".SH DESCRIPTION",
        "Each command has a page of its own:",
        ".BR tacitd\\-status (1)",
        "describes",
        '.BR "tacitd status" .',
        ".SH OPTIONS",
        *_format_options(program, context),
    ]
    for group, rows in groups:
        lines += [f".SH {_quote(group.upper())}"]
        for name, about in rows:
            lines += [".TP", f".BR tacitd\\-{_escape(name)} (1)", _escape(about)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES:
        lines += [".TP", f".B {code}", meaning]
    return "\n".join(lines) + "\n"


def _split_help(command: click.Command) -> tuple[str, str]:
    """The first sentence of the help, and the whole help if there is more than that."""
    text = (command.help or "").strip()
    first, _, rest = " ".join(text.split()).partition(". ")
    return first, text if rest else ""


def _format_usage(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".B {_escape(context.command_path)}"
    pieces = " ".join(command.collect_usage_pieces(context))
    if pieces:
        yield _escape(pieces)


def _format_paragraphs(text: str) -> Iterator[str]:
    for number, part in enumerate(one for one in text.replace("\b", "").split("\n\n") if one.strip()):
        if number:
            yield ".PP"
        yield _escape(" ".join(part.split()))


def _format_options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = [one for one in command.params if isinstance(one, click.Option)]
    records = [one.get_help_record(context) for one in options]
    # click's own help option keeps the names with which the command was called first in this process.
    if context.help_option_names:
        records.append((", ".join(context.help_option_names), "Show this message and exit."))
    for names, about in (one for one in records if one is not None):
        yield ".TP"
        yield f".B {_escape(names)}"
        yield _escape(" ".join(about.split())) or "\\&"


def _format_commands(group: click.Group, above: click.Context) -> Iterator[str]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        if command is None or command.hidden:
            continue
        context = make_context(command, name, above)
        context.help_option_names = []  # the page lists --help once
        yield f".SS {_quote(context.command_path)}"
        yield from _format_usage(command, context)
        yield ".PP"
        yield from _format_paragraphs(command.help or "")
        yield from _format_options(command, context)
        if isinstance(command, click.Group):
            yield from _format_commands(command, context)


def _format_examples(command: click.Command) -> Iterator[str]:
    text = (command.epilog or "").replace("\b", "").strip()
    shown = [one.removeprefix("Example:").strip() for one in text.splitlines() if one.startswith("Example:")]
    if not shown:
        return
    yield ".SH EXAMPLES"
    yield ".nf"
    yield from (_escape(one) for one in shown)
    yield ".fi"


def _escape(text: str) -> str:
    """Text as it is, for man(7): no character of it is a request, and `-` stays a hyphen that can be copied."""
    made = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    made = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", made)
    return f"\\&{made}" if made.startswith(".") else made


def _quote(text: str) -> str:
    return '"' + _escape(text).replace('"', "\\(dq") + '"'
