"""The sections `extraction`, `learning` and `reach` of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tacitd.config.settings import Duration
from tacitd.plugin import GatherRule


class ExtractionSettings(BaseModel):
    """`extraction`: when a session's prompts are put to the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    settle: Duration = Field(
        default=600.0,
        ge=0,
        description="Prompts of a session are sent to the model once nothing was typed for this time.",
    )
    max_prompts: int = Field(
        default=10, ge=1, le=100, description="With this many prompts, they are sent at once."
    )
    max_bytes: int = Field(
        default=24576,
        ge=1024,
        le=200_000,
        description="With this many bytes of prompts, they are sent at once.",
    )


def choose_gather(settings: Mapping[str, Any]) -> GatherRule:
    """Return how prompts are gathered for one call of the model (SPEC S-01), given the plugin's sections."""
    extraction: ExtractionSettings = settings["extraction"]
    return GatherRule(extraction.settle, extraction.max_prompts, extraction.max_bytes)


class LearningSettings(BaseModel):
    """`learning`: how many learned lines a file has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_lines: int = Field(
        default=150,
        ge=10,
        le=2000,
        description="Learned lines in `LEARNED.md`. Past it, synthesis is asked to merge lines, and `status` says so.",
    )
    max_module_lines: int = Field(
        default=50, ge=10, le=2000, description="The same for the `AGENTS.md` of a folder."
    )


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
