"""Configuration field types: durations and lists of names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import BaseModel, ValidationError

from tacitd.config.types import Duration, Names


class Example(BaseModel):
    """A section with two fields."""

    pause: Duration = 1.0
    names: Names = ()


def test_durations_and_names_are_read() -> None:
    """As people write them: `TACITD_CLAUDE__PASS_ENV=A,B`, `pause = "30m"`."""
    example = Example.model_validate({"pause": "30m", "names": "A, B,"})
    assert (example.pause, example.names) == (1800.0, ("A", "B"))
    assert Example.model_validate({"names": ["A,B"]}).names == ("A,B",)


def test_json_shows_the_spelling() -> None:
    """`config show --json` shows durations as they are written."""
    assert Example(pause=90).model_dump_json() == '{"pause":"1m30s","names":[]}'


def test_a_wrong_span_is_a_validation_error() -> None:
    """A wrong value is refused with what is allowed."""
    with pytest.raises(ValidationError, match="500ms"):
        Example.model_validate({"pause": "soon"})


def test_reading_a_span_needs_no_pydantic() -> None:
    """The fast commands load only what they use (DESIGN "Control")."""
    code = "import sys; import tacitd.config.durations; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
