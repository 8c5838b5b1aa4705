"""The form of the state directory: `schema.json` contains `{"schema": N, "by": "0.1.0"}`.

A directory with another form is refused with exit code 78, so that a service manager does not restart the daemon again and
again, and nothing in it is changed.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacitd import __version__
from tacitd.errors import ConfigError
from tacitd.files.replaced import replace_file

FILE = "schema.json"
SCHEMA = 2


def check_schema(state_dir: Path) -> None:
    """Mark a new state directory, and accept one of this form. Raises ConfigError for another one, OSError."""
    path = state_dir / FILE
    try:
        found = json.loads(path.read_bytes())["schema"]
    except FileNotFoundError:
        replace_file(path, (json.dumps({"schema": SCHEMA, "by": __version__}) + "\n").encode(), mode=0o600)
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{path} cannot be read: {error}"
        raise ConfigError(what, "restore it, or remove it if no newer tacitd ran here") from None
    if found != SCHEMA or isinstance(found, bool):
        by = "a newer tacitd" if isinstance(found, int) and found > SCHEMA else "another version of tacitd"
        raise ConfigError(
            f"{state_dir} was written by {by} (schema {found!r}; this version supports {SCHEMA})",
            "install that version again, or set TACITD_STATE_DIR to another directory",
        )
