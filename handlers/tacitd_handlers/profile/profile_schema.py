"""The files of seed 001 as pydantic models (SPEC P-05, P-09, P-18): strict, with unknown keys allowed.

The models only check a document. What is written is the document itself, so that nothing in it is lost or reordered.
pydantic takes long to import, so this module is imported inside functions, and the fast commands read without it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tacitd.clock import parse_utc
from tacitd.files.json_document import NotUnderstoodError
from tacitd_handlers.profile.fields import CUSTOM, FIELDS, PARTS


def _is_time(text: str) -> str:
    if parse_utc(text) is None:
        raise ValueError("not an ISO 8601 time")
    return text


Stamp = Annotated[str, AfterValidator(_is_time)]
"""An ISO 8601 time with or without milliseconds (SPEC P-21)."""


class ProfilePart(BaseModel):
    """A part of a document: camelCase on disk, strict types, unknown keys allowed (SPEC P-05, P-06)."""

    model_config = ConfigDict(strict=True, extra="allow", alias_generator=to_camel)


class Work(ProfilePart):
    role: str | None = None
    focus_areas: list[str] | None = None
    languages: list[str] | None = None


class CodePreferences(ProfilePart):
    tone: Literal["direct", "neutral", "friendly"] | None = None
    detail_level: Literal["high", "medium", "low"] | None = None
    avoid_examples: list[str] | None = None
    preferred_stacks: list[str] | None = None


class ToolsPart(ProfilePart):
    editor: str | None = None
    infra: list[str] | None = None


class Preferences(ProfilePart):
    """A profile without its head. The changelog's `changes` have the same shape."""

    bio: str | None = None
    work: Work | None = None
    code_preferences: CodePreferences | None = None
    tools: ToolsPart | None = None
    interests: list[str] | None = None
    custom: dict[str, Any] | None = None


class UserProfile(Preferences):
    """profile.json. The head may be missing in a file that a person began; tacitd fills it in (SPEC P-02 to P-04)."""

    user_id: str | None = None
    schema_version: Literal[1] | None = None
    last_updated: Stamp | None = None


class PreferenceMeta(ProfilePart):
    """One learned path of profile-meta.json (SPEC P-09)."""

    path: str = Field(min_length=1)
    first_seen: Stamp
    last_seen: Stamp
    confidence: float = Field(ge=0.0, le=1.0)
    seen_count: int = Field(ge=0)


class ProfileMetadata(ProfilePart):
    """profile-meta.json."""

    user_id: str | None = None
    schema_version: Literal[1] | None = None
    last_decay: Stamp | None = None
    preferences: list[PreferenceMeta] = Field(default_factory=list)


def check_document(document: dict[str, Any], model: type[ProfilePart], what: object) -> dict[str, Any]:
    """Return the document if the model accepts it. Raises NotUnderstoodError with the place in it and the reason.

    `what` is the file, for the message. A `schemaVersion` other than the integer 1 is refused (SPEC P-03).
    """
    nothing = _null(document)
    if nothing:
        raise NotUnderstoodError(f"{what}: {nothing} is null", "remove the key")
    version = document.get("schemaVersion")
    if "schemaVersion" in document and (
        isinstance(version, bool) or not isinstance(version, int) or version != 1
    ):
        why = f"{what}: schemaVersion is {version!r}; this version supports 1 and does not change the file"
        raise NotUnderstoodError(why, "update tacitd, or move the file away")
    try:
        model.model_validate(document)
    except ValidationError as error:
        raise NotUnderstoodError(
            f"{what}: {_said(error)}", "correct it by hand; nothing was written"
        ) from None
    return document


def _null(document: dict[str, Any]) -> str:
    """The first of the seed's fields that is null; "" if none is. Unknown keys and values below `custom` may be null."""
    for path in (*PARTS, CUSTOM, *FIELDS):
        *above, key = path.split(".")
        holder: Any = document
        for part in above:
            holder = holder.get(part) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and key in holder and holder[key] is None:
            return path
    return ""


def _said(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg'].removeprefix('Value error, ')}"
