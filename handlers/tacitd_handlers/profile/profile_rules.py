"""The profile's lines for the rules file that every session loads: the hook `person_rules`.

A value is in it with a confidence of 0.3 or more, or if it is the person's own. The biography is left out: it is text for a
person, not a preference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tacitd.clock import Clock
from tacitd.session_context.person_rules import PersonRule
from tacitd_handlers.profile import dot_paths
from tacitd_handlers.profile import profile_confidence as metas
from tacitd_handlers.profile.fields import LABELS
from tacitd_handlers.profile.profile_reader import META, PROFILE
from tacitd_handlers.profile.render import format_value
from tacitd_handlers.profile.store import ProfileStore
from tacitd_handlers.shared.user_memory import memory_dir

LEAST = 0.3
"""The confidence from which on a learned value is loaded into sessions."""
BIOGRAPHY = "bio"


class ProfileRules:
    """A rule's id is the dot path of its value."""

    title = "Preferences"

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._environ = environ
        self._clock = clock

    def list_files(self) -> Sequence[Path]:
        """The profile and its confidences."""
        directory = memory_dir(self._environ)
        return [directory / PROFILE, directory / META]

    def list_rules(self) -> Sequence[PersonRule]:
        """A rule for each value, the seed's fields first. Raises OSError, NotUnderstoodError."""
        store, now = ProfileStore.from_environ(self._environ, self._clock), self._clock.now()
        profile, owned = store.read_profile(), store.find_ownership()
        learned, doubted = metas.read_confidences(store.read_metadata()), store.find_clock_doubt()
        leaves = dot_paths.list_leaves(profile)
        rules: list[PersonRule] = []
        for path in [*(path for path in LABELS if path in leaves), *sorted(leaves.keys() - LABELS.keys())]:
            known, value = learned.get(path), leaves[path]
            if path not in owned.paths and known is not None:
                # While the clock is not trusted nothing decays, so the confidence is the stored one.
                confidence = known.confidence if doubted else known.confidence_at(now)
                if confidence < LEAST:
                    value = list(owned.elements.get(path, ()))  # of a list, the person's elements stay
            words = format_value(value)
            if words and path.split(".")[0] != BIOGRAPHY:
                rules.append(PersonRule(path, f"{LABELS.get(path, path)}: {words}", path in owned.paths))
        return rules

    def withdraw_rule(self, id: str) -> None:
        """Remove the path from the profile. Raises OSError, FileRefusedError, FileBusyError, LogDamagedError."""
        store = ProfileStore.from_environ(self._environ, self._clock)
        store.by_person = True  # the person deleted the line: an old profile is no wrong clock
        with closing(store.log):
            store.remove_value(id)
