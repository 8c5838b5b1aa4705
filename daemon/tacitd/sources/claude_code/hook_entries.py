"""tacitd's entries in Claude Code's settings.json, and what its hooks say. Pure: text in, text out.

Each event that all supported clients know gets one entry, which runs hook_program.py (CLAUDE_CODE.md section 4). An entry
is recognised by the program's name in its command, so entries of an older tacitd are found too. Nothing else in the file
is changed. Reading and writing the file is in service/hook_installation.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacitd.errors import FileRefusedError
from tacitd.sources.base import HookEntry, HookQuestion, SessionHint
from tacitd.sources.claude_code import hook_events
from tacitd.sources.claude_code.hook_events import EVENTS, NEWER_EVENTS, is_path
from tacitd.text.json_splice import add_json_value, remove_json_value

PROGRAM = "tacitd-hook.py"
"""The name of the installed copy of hook_program.py."""
PLUGIN = "tacitd"
"""The name of the plugin, in whatever marketplace."""
_BOM = "\ufeff"
_LONGEST_ID = 200


class ClaudeCodeHooks:
    """The hooks of Claude Code."""

    program = Path(__file__).parent / "hook_program.py"
    program_name = PROGRAM

    def find_settings(self, home: Path, project: Path | None) -> Path:
        """The settings file of the client with this directory, or a person's own settings of one project."""
        return home / "settings.json" if project is None else project / ".claude" / "settings.local.json"

    def list_entries(self, text: str) -> list[HookEntry]:
        """tacitd's entries in a settings file, in its order. Raises FileRefusedError if the text is not understood."""
        found: list[HookEntry] = []
        for event, groups in _read_hooks(text).items():
            for group_number, group in enumerate(groups if isinstance(groups, list) else ()):
                inner = group.get("hooks") if isinstance(group, dict) else None
                for number, one in enumerate(inner if isinstance(inner, list) else ()):
                    command = one.get("command") if isinstance(one, dict) else None
                    if isinstance(command, str) and PROGRAM in command:
                        path = ("hooks", event, group_number, "hooks", number)
                        found.append(HookEntry(event, command, path))
        return found

    def has_plugin(self, text: str) -> bool:
        """Whether `enabledPlugins` has the plugin; False if the text is not understood."""
        try:
            enabled = json.loads(text.removeprefix(_BOM)).get("enabledPlugins")
        except (ValueError, AttributeError, RecursionError):
            return False
        named = enabled.items() if isinstance(enabled, dict) else ()
        return any(name.partition("@")[0] == PLUGIN and bool(on) for name, on in named)

    def choose_events(self, versions: Sequence[str]) -> tuple[str, ...]:
        """The events that may be in a settings file which clients of these versions read; of unknown clients, if empty."""
        return hook_events.choose_events(versions)

    def add_entries(self, text: str, command: str, events: Sequence[str] = EVENTS) -> str:
        """Given a settings file, return it with exactly one entry of ours for each of these events, which runs `command`.

        An entry that is as wanted already stays where it is. Raises FileRefusedError if the text is not understood.
        """
        ours = self.list_entries(text)
        good = {
            entry.event: entry
            for entry in reversed(ours)
            if entry.command == command and entry.event in events
        }
        text = self._without(text, [entry for entry in ours if entry not in good.values()])
        for event in events:
            if event not in good:
                newer = any(one in events for one in NEWER_EVENTS)
                entry = {"hooks": [hook_events.make_entry(event, command, newer=newer)]}
                text = _splice(add_json_value, text, ("hooks", event), entry)
        return text

    def remove_entries(self, text: str) -> str:
        """Given a settings file, return it without our entries. Raises FileRefusedError if the text is not understood."""
        return self._without(text, self.list_entries(text))

    def read_hint(self, data: Mapping[str, object]) -> SessionHint | None:
        """What a hook's input says about a session; None if it is not an input of Claude Code."""
        event, session, path = (data.get(key) for key in ("hook_event_name", "session_id", "transcript_path"))
        if not (isinstance(event, str) and isinstance(session, str) and isinstance(path, str)):
            return None
        if event not in (*EVENTS, *NEWER_EVENTS) or not 0 < len(session) <= _LONGEST_ID or not is_path(path):
            return None
        return SessionHint(session, Path(path), ended=event == "SessionEnd", compacts=event == "PreCompact")

    def read_question(self, data: Mapping[str, object]) -> HookQuestion | None:
        """What a hook's input wants a text for; None if there is nothing to answer."""
        return hook_events.read_question(data)

    def format_answer(self, question: HookQuestion, text: str) -> str:
        """What the hook has to print so that the client puts this text into the session."""
        return hook_events.format_answer(question, text)

    def _without(self, text: str, entries: list[HookEntry]) -> str:
        for entry in reversed(entries):  # from the end, so that the indexes of the others stay right
            text = _splice(remove_json_value, text, entry.path)
        return text


def _splice(change: Any, text: str, *arguments: Any) -> str:
    """Apply a function of json_splice behind a byte order mark. Raises FileRefusedError."""
    mark = _BOM if text.startswith(_BOM) else ""
    try:
        return mark + str(change(text.removeprefix(_BOM), *arguments))
    except (ValueError, IndexError, RecursionError) as error:
        raise _refuse(str(error)) from error


def _read_hooks(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text.removeprefix(_BOM), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise _refuse(str(error)) from error
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(one, list) for one in hooks.values()):
        raise _refuse("it has another structure than Claude Code's settings")
    return hooks


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object. Raises ValueError for a key that occurs twice, because it is not known which one counts."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _refuse(why: str) -> FileRefusedError:
    return FileRefusedError(
        f"the settings are not changed, because they cannot be read: {why}",
        "correct the file (comments and trailing commas are not JSON), then try again",
    )
