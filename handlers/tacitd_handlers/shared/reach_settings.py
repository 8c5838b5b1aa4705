"""The section `reach` of the configuration. The plugins that write files for sessions have it in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ReachSettings(BaseModel):
    """How learned lines reach sessions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    project_rules: bool = Field(
        default=True,
        description="Write a project's learned lines as generated text into its `.claude/rules/`, where sessions load them. "
        "If you turn it off, these files are removed.",
    )
    codex: bool = Field(
        default=False,
        description="Keep the lines of a project's LEARNED.md as a marked block at the end of the `AGENTS.md` in its root, which "
        "Codex loads. One that git tracks is only changed in a project that is shared. If you turn it off, the block is removed.",
    )
    user_rules: bool = Field(
        default=True,
        description="Keep `rules/tacitd.md` in Claude Code's directory: what is known of you and your global lessons, "
        "which every session loads. If you turn it off, the file is removed.",
    )
    user_rules_in_git: bool = Field(
        default=False,
        description="Write it also if Claude Code's directory is in a git work tree, where it could be committed.",
    )
