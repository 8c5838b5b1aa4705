"""The schema of the state directory, and the migrations from older ones.

`schema.json` contains `{"schema": N, "by": "0.1.0"}`. A newer schema is refused with exit code 78, so that a service
manager does not restart the daemon again and again. A migration changes files in this one directory only, before any of
them is opened. After a crash the next start repeats the step, so each step must be idempotent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tacitd import __version__
from tacitd.errors import ConfigError
from tacitd.files.replaced import replace_file

FILE = "schema.json"

Step = Callable[[Path], None]
"""Given the state directory, migrates it from one schema to the next. Idempotent."""


def allow_snapshots(state_dir: Path) -> None:
    """Schema 2: handlers' logs may begin with a snapshot, and have archives beside them. The first compaction makes them.

    A version that only knows schema 1 would leave the snapshot out, and learn again what a person has removed.
    """


STEPS: Sequence[Step] = (allow_snapshots,)
"""STEPS[0] migrates from schema 1 to 2."""


def migrate_state(
    state_dir: Path, steps: Sequence[Step] = STEPS, longer: Callable[[float], None] = lambda _: None
) -> int:
    """Migrate the directory to this version's schema. `longer(seconds)` asks the service manager for more time.

    Returns the number of steps. Raises ConfigError for a newer schema or an unreadable file, OSError.
    """
    target = 1 + len(steps)
    found = _read(state_dir / FILE)
    if found is not None and found > target:
        raise ConfigError(
            f"{state_dir} was written by a newer tacitd (schema {found}; this version supports {target})",
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
            f"{path} cannot be read: {error}", "restore it, or remove it if no newer tacitd ran here"
        ) from None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ConfigError(
            f"{path}: {found!r} is not a schema", "restore it, or remove it if no newer tacitd ran here"
        )
    return found


def _write(path: Path, schema: int) -> None:
    text = json.dumps({"schema": schema, "by": __version__}) + "\n"
    replace_file(path, text.encode(), mode=0o600)
