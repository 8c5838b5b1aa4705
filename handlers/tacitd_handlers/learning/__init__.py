"""Learning (seed 003): write the user's corrections and preferences as lines of LEARNED.md and modules' AGENTS.md.

Stage 1 (`stage1/`) extracts facts from prompts, Stage 2 (`stage2/`) writes facts as lines. `handler.py` decides which
event starts which stage. The other modules are rules, files and commands of the two stages.
"""

from tacitd.handler import Job, Plugin

__all__ = ["make_plugin"]


def make_plugin() -> Plugin:
    """Return the plugin. The `tacitd.handlers` entry point names this function; its imports are inside to keep it fast."""
    here = "tacitd_handlers.learning"
    return Plugin(
        "learning",
        f"{here}.handler:LearningHandler",
        settings={
            "extraction": f"{here}.settings:ExtractionSettings",
            "learning": f"{here}.settings:LearningSettings",
            "reach": "tacitd_handlers.shared.reach_settings:ReachSettings",
        },
        jobs=(
            Job("recover", 600.0, at_start=True),
            Job("synthesize"),
            Job("init"),
            Job("retry"),
            Job("mirror"),
            Job("restore"),
            Job("unfinished-mirrors", 30.0),
        ),
        lanes=2,
        gather=f"{here}.settings:choose_gather",
        activity=f"{here}.learned_notices:describe_commit",
        footprint=f"{here}.learning_files:learning_footprint",
        order=10,
        commands={
            "demo": (f"{here}.cli:demo", "Run the whole pipeline in ten seconds, without Claude.", "Others"),
            "scan": (
                f"{here}.scan:scan",
                "Learn from past transcripts, after an estimate of the cost.",
                "Others",
            ),
            "learned": (
                f"{here}.learned_command:learned",
                "Show what was learned in a project.",
                "See it",
            ),
            "init": (f"{here}.cli:init", "Create LEARNED.md and the summary in a project.", "Others"),
            "synthesize": (f"{here}.cli:synthesize", "Make lines from the waiting facts now.", "Others"),
            "link": (
                f"{here}.link:link",
                "Offer the line by which agents find LEARNED.md, as a diff.",
                "Others",
            ),
            "share": (
                f"{here}.link:share",
                "Share LEARNED.md and AGENTS.md with a team through git.",
                "Decide",
            ),
            "exclude": (f"{here}.link:exclude", "Stop writing in a project.", "Decide"),
            "adopt": (
                f"{here}.adopt_command:adopt",
                "Make a line that was learned in three projects a rule for all.",
                "Others",
            ),
            "trust": (
                f"{here}.trust_command:trust",
                "Show the text that came with a project to its sessions.",
                "Others",
            ),
        },
        context=f"{here}.context:build_section",
        context_order=15,
        context_budget=3_000,
        context_for_agents=True,
        explain=f"{here}.explain_line:find_reasons",
        findings=f"{here}.mirrors.mirror_checks:find_problems",
        person_rules=f"{here}.adopted_rules:LearnedRules",
        items=f"{here}.line_items:list_items",
        decide=f"{here}.line_decisions:decide_line",
        purge=f"{here}.purged_files:purge_words",
        report=f"{here}.report_sections:build_sections",
        status_lines=f"{here}.status_text:format_status_lines",
        mcp=f"{here}.mcp_tools:LEARNING",
    )
