"""The command group `lesson`, used as the program of that name and as `tacitd lesson`.

The commands are in `read_commands` and `write_commands`.
"""

from __future__ import annotations

import click

from tacitd.cli.program import OrderedGroup
from tacitd_handlers.lessons import read_commands, write_commands

_TABLE = (
    write_commands.add_,
    read_commands.list_,
    read_commands.show_,
    write_commands.wrong_,
    write_commands.promote_,
    read_commands.search_,
    read_commands.load_,
)
"""The seed's commands first, in the seed's order."""


@click.group(
    cls=OrderedGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nExample: lesson load\n\n\b\nExit codes: 0 done, 1 failed, 2 wrong use.",
)
def lesson() -> None:
    """Lessons: WHEN -> DO -> BECAUSE rules that agents load and people can override.

    A lesson is valid until a person overrides it: `lesson wrong` deletes it, `lesson promote` makes it part of a
    skill.
    """


for _command in _TABLE:
    lesson.add_command(_command)
