"""Sessions of a person in which no prompt is recognised: the client may write them in a way that is not known.

What is not known for a person's is never learned, so a changed format would go unnoticed without this. Pure.
"""

from __future__ import annotations

from pathlib import Path

from tacitd.handler import Degradation
from tacitd.sources.base import Recognition

ANSWERS = 20
"""How many answers without a recognised prompt are a problem: of one session, or of several of the same client."""
_HINT = (
    "install a newer tacitd, which may know this client; `tacitd prompts FILE --explain` says what was refused in a "
    "transcript, and nothing that was typed there is learned"
)


class RecognitionWatch:
    """The sessions without a recognised prompt, of this run. Engine thread only."""

    def __init__(self) -> None:
        self._silent: dict[Path, Recognition] = {}

    def take_session(self, path: Path, found: Recognition) -> None:
        """A transcript was read. A recognised prompt excuses the short sessions of the same client."""
        if not found.recognised:
            if found.answers:
                self._silent[path] = found
            return
        self._silent.pop(path, None)
        if self._silent:
            self._silent = {
                other: one
                for other, one in self._silent.items()
                if one.version != found.version or one.answers >= ANSWERS
            }

    def list_degradations(self) -> list[Degradation]:
        """One for each version of the client with too many answers."""
        found: list[Degradation] = []
        for version in dict.fromkeys(one.version for one in self._silent.values()):
            silent = [one for one in self._silent.values() if one.version == version]
            answers = sum(one.answers for one in silent)
            if answers >= ANSWERS:
                what = (
                    f"no prompt is recognised in {len(silent)} session(s) with {answers} answers of the client "
                    f"{version or 'of an unknown version'}; {silent[-1].refusal}"
                )
                found.append(Degradation("transcripts.unrecognised", what, _HINT))
        return found
