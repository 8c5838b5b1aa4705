"""Settings of earlier versions: accepted, without effect, and named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import BaseModel, ConfigDict

from tacitd.config.settings import Config, list_settings, load_config
from tacitd.errors import ConfigError


class Extraction(BaseModel):
    """A plugin's section that had two more settings once."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    removed_settings: ClassVar[Mapping[str, str]] = {
        "words": "set `extraction.most`",
        "pause": "leave it out",
    }

    most: int = 3


def read(tmp: Path, toml: str = "", **environ: str) -> Config:
    file = tmp / "config.toml"
    file.write_text(toml)
    return load_config(file, environ, {"extraction": Extraction})


def test_a_removed_setting_has_no_effect_and_is_named(tmp_path: Path) -> None:
    """An old configuration does not keep a new version from starting; the other settings keep their effect."""
    config = read(
        tmp_path,
        "[extraction]\nwords = 5\nmost = 7\n",
        TACITD_EXTRACTION__PAUSE="5s",
        tacitd_extraction__words="9",
    )
    assert config.get_section("extraction").most == 7
    assert [(one.key, one.where) for one in config.removed] == [
        ("extraction.words", str(tmp_path / "config.toml")),
        ("extraction.words", "tacitd_extraction__words"),
        ("extraction.pause", "TACITD_EXTRACTION__PAUSE"),
    ]
    assert config.removed[0].what.endswith("config.toml has no effect any more: set `extraction.most`")
    assert not {"extraction.words", "extraction.pause"} & {key for key, _, _ in list_settings(config)}
    assert read(tmp_path).removed == ()


@pytest.mark.parametrize(
    ("toml", "environ"),
    [
        ("[extraction]\nword = 5\n", {}),
        ("words = 5\n", {}),
        ("[session]\nwords = 5\n", {}),
        ("extraction = 5\n", {}),
        ("", {"TACITD_EXTRACTION__WORD": "5"}),
        ("[extraction]\nwords = 5\nmost = 'x'\n", {}),
    ],
)
def test_any_other_name_is_refused(tmp_path: Path, toml: str, environ: dict[str, str]) -> None:
    """Only the declared names of a section are ignored: a misspelt one would silently have no effect."""
    with pytest.raises(ConfigError):
        read(tmp_path, toml, **environ)
