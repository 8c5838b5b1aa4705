"""The state directory's schema: which version wrote it, and how an older one becomes this one.

`schema.json` holds `{"schema": N, "by": "0.1.0"}`. A newer schema is refused with exit 78, so that a service manager
does not try again and again. A migration is a pure change of files in one directory, done once, before anything else
is opened; a crash in it is finished at the next start, because each step looks at what is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tacitd import __version__
from tacitd.errors import ConfigError
from tacitd.files.replaced import replace

SCHEMA = 1
FILE = "schema.json"

Step = Callable[[Path], None]
"""Given the state directory at one schema, brings it to the next. Safe to do twice."""

STEPS: Sequence[Step] = ()
"""STEPS[0] leads from schema 1 to 2."""


def ensure(
    state_dir: Path, steps: Sequence[Step] = STEPS, longer: Callable[[float], None] = lambda _: None
) -> int:
    """Bring the directory to this version's schema. `longer(seconds)` asks the service manager for more time.

    Returns how many steps were done. Raises ConfigError for a newer schema or an unreadable file, OSError.
    """
    target = 1 + len(steps)
    found = _read(state_dir / FILE)
    if found is not None and found > target:
        raise ConfigError(
            f"{state_dir} was written by a newer tacitd (schema {found}; this one knows {target})",
            "install the newer version again, or set TACITD_STATE_DIR to another directory",
        )
    done = 0
    for number in range(found if found is not None else target, target):
        longer(60.0)
        steps[number - 1](state_dir)
        _write(state_dir / FILE, number + 1)
        done += 1
    if found is None:
        _write(state_dir / FILE, target)
    return done


def _read(path: Path) -> int | None:
    try:
        found = json.loads(path.read_bytes())["schema"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be read: {error}", "restore it, or remove it if nothing newer was here"
        ) from None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ConfigError(
            f"{path}: {found!r} is no schema", "restore it, or remove it if nothing newer was here"
        )
    return found


def _write(path: Path, schema: int) -> None:
    text = json.dumps({"schema": schema, "by": __version__}) + "\n"
    replace(path, text.encode(), mode=0o600)
