"""Learning (seed 003): write the user's corrections and preferences as lines of LEARNED.md and modules' AGENTS.md.

A prompt becomes facts (`extract`), which wait as rows; at the end of its session they become lines (`synthesize`, `plan`) in the
files that people edit too (`sources`); copies for the client follow them (`reach/project_rules`). `learned_rows` reads and changes the rows of
both, `edits` is what a person's edits of the files mean for them, and `task_dispatch` says which task does which of these. The other
modules are commands and what they show.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow down the fast commands
if TYPE_CHECKING:
    from tacitd.plugin import PluginSpec

__all__ = ["SCHEMA", "UNHEEDED", "make_plugin"]

SCHEMA = ("tacitd_handlers.learning:schema.sql",)
"""The steps of its tables; the number of steps is their version."""
UNHEEDED = 2
"""Corrections since a line was written, after which a person is asked about it: the third in all."""


COMMANDS = (
    ("demo", "commands:demo", "Run the whole pipeline in a few seconds, without Claude.", "Others"),
    ("scan", "scan:scan", "Learn from past transcripts, after an estimate of the cost.", "Others"),
    ("learned", "learned_command:learned", "Show what was learned in a project.", "See it"),
    ("init", "commands:init", "Create LEARNED.md and the summary in a project.", "Others"),
    ("synthesize", "commands:synthesize", "Make lines from the waiting facts now.", "Others"),
    ("share", "commands:share", "Share LEARNED.md and AGENTS.md with a team through git.", "Decide"),
    ("exclude", "commands:exclude", "Stop writing in a project.", "Decide"),
    ("trust", "commands:trust", "Show the text that came with a project to its sessions.", "Others"),
    ("move", "commands:move", "Move a learned line to all projects, or to a folder.", "Others"),
)


def make_plugin() -> PluginSpec:
    """Return the plugin; the entry point `tacitd.handlers` calls it."""
    from tacitd.plugin import PluginSpec, SharedFileKind, TimedJob

    here, reach = "tacitd_handlers.learning", "tacitd_handlers.reach"
    once = float("inf")
    return PluginSpec(
        "learning",
        order=15,
        settings={
            "extraction": f"{here}.settings:ExtractionSettings",
            "learning": f"{here}.settings:LearningSettings",
            "reach": "tacitd_handlers.learning.settings:ReachSettings",
        },
        schema=SCHEMA,
        observe=f"{here}.folders:observe",
        run=f"{here}.task_dispatch:run",
        gather=f"{here}.settings:choose_gather",
        events=frozenset({"session-started", "session-ended", "purge"}),
        jobs=(
            TimedJob("recover", 600.0),
            TimedJob("tidy", 86_400.0),
            TimedJob("synthesize", once, each_project=True),
            TimedJob("init", once, each_project=True),
            TimedJob("retry", once),
        ),
        files=(
            SharedFileKind(
                "learned", "bullets", f"{here}.sources:list_paths", f"{here}.edits:take_edits", always=True
            ),
            SharedFileKind(
                "rules",
                f"{reach}.rule_text:COPY",
                f"{reach}.copies:list_copies",
                f"{reach}.copies:take_copy_edits",
                always=True,
            ),
            SharedFileKind("raw", "lines", f"{here}.raw_file:list_paths", f"{here}.raw_file:take_appended"),
        ),
        commands={name: (f"{here}.{where}", text, group) for name, where, text, group in COMMANDS},
        session_text=f"{here}.learned_text:make_text",
        status=f"{here}.learning_status:report_status",
        items=f"{here}.line_items",
        why=f"{here}.explain_line:explain",
        report=f"{here}.learning_status:build_sections",
        prompt_parts={
            "person-rules": f"{here}.edits:LearnedRules",
            "doctor": f"{here}.learning_footprint:find_problems",
            "banner": f"{here}.learning_footprint:format_banner_lines",
        },
        mcp=f"{here}.learned_text:LEARNING",
        footprint=f"{here}.learning_footprint:find_footprint",
    )
