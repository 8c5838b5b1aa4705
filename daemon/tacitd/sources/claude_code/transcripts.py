"""Claude Code as a source of transcripts: where they are, which are a sub-agent's, what reads them, and who runs them.

`<home>/projects/<encoded directory>/<session>.jsonl` is a transcript. A sub-agent's is in `<session>/subagents/` (since
about 2.1.2) or beside the session as `agent-<id>.jsonl` (2.0.76). Older clients wrote sub-agents into the session's own
transcript; see rule 1 in prompts.py.

`<home>/sessions/<pid>.json` says which session a client runs. Claude Code writes the file in place while a session is open, removes
it at exit, and leaves it behind after a SIGKILL (2.1.328). So half-written files and files that name a dead process are normal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from tacitd.sources.claude_code.record_reader import ClaudeAssembler
from tacitd.sources.lines import read_some
from tacitd.sources.source import HookInput, SessionClaim, Source
from tacitd.sources.transcript import LOOK_BEHIND

SUFFIX = ".jsonl"
"""The suffix of a transcript's name."""
_LARGEST_CLAIM = 65536
"""Bytes of a session file that are read; a real one has some hundred."""
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
    "SessionEnd",
    "SubagentStart",
    "PostToolUseFailure",
)
"""Those that the plugin names in `plugin/hooks/hooks.json`; each runs hook_program.py (CLAUDE_CODE.md section 4)."""
LONGEST_ERROR = 20_000
"""Characters of a failed call's error that are looked at: its end."""
LONGEST_ID = 200


class ClaudeCode(Source):
    """The client whose own directory is `~/.claude`."""

    name = "Claude Code"
    hook_program = Path(__file__).parent / "hook_program.py"

    @property
    def roots(self) -> Sequence[Path]:
        return (self.home / "projects",)

    def absent_hint(self, root: str) -> str:
        return "Use Claude Code once, or set CLAUDE_CONFIG_DIR."

    def is_transcript(self, path: str) -> bool:
        return path.endswith(SUFFIX)

    def is_subagent(self, path: str) -> bool:
        """By rule 1 of prompts.py."""
        name = path.rpartition("/")[2]
        return "/subagents/" in f"/{path}/" or (name.startswith("agent-") and name.endswith(SUFFIX))

    def session_of_subagent(self, path: Path) -> str | None:
        """Given `…/<session>/subagents/…/x.jsonl`, return the session; None for any other path."""
        before, _, _ = f"{path.parent}/".rpartition("/subagents/")
        return before.rpartition("/")[2] or None

    def make_assembler(self, path: Path, start: int = 0, explain: bool = False) -> ClaudeAssembler:
        return ClaudeAssembler(path, self.own, start, explain)

    def read_claims(self) -> list[SessionClaim]:
        """Files that are half written, cannot be read or have another form are left out."""
        try:
            with os.scandir(self.home / "sessions") as entries:
                paths = [entry.path for entry in entries if entry.name.endswith(".json")]
        except OSError:
            return []
        claims: list[SessionClaim] = []
        for path in paths:
            with suppress(ValueError, RecursionError):
                found = json.loads(read_some(path, _LARGEST_CLAIM))
                if not isinstance(found, dict):
                    continue
                pid, session = found.get("pid"), _text(found, "sessionId")
                if type(pid) is int and session:
                    claims.append(SessionClaim(pid, session, _text(found, "cwd")))
        return claims

    def makes_claims(self, path: Path) -> bool:
        """In a terminal. Of a client in an editor, of `claude -p` and of versions that name no entry point it is not known."""
        if not (self.home / "sessions").is_dir():  # of an earlier version
            return False
        with suppress(OSError):
            end = read_some(path, LOOK_BEHIND, start=max(0, path.stat().st_size - LOOK_BEHIND))
            _, found, last = end.rpartition(b'"entrypoint":')
            return bool(found) and last.startswith(b'"cli"')
        return False

    def read_hook(self, data: Mapping[str, object]) -> HookInput | None:
        event, session, path, cwd = (
            _text(data, key) for key in ("hook_event_name", "session_id", "transcript_path", "cwd")
        )
        if event not in EVENTS or not 0 < len(session) <= LONGEST_ID or not is_path(path):
            return None
        hook = HookInput(event, session, Path(path), cwd)
        match event:
            case "SessionEnd":
                return replace(hook, ended=True)
            case "PreCompact":
                return replace(hook, compacts=True)
            case "SessionStart" if is_path(cwd):
                return replace(hook, kind="context", source=_text(data, "source"))
            case "SubagentStart" if is_path(cwd):
                return replace(hook, kind="context", agent=_text(data, "agent_type") or "unknown")
            case "PostToolUseFailure" if is_path(cwd):
                error = _text(data, "error")[-LONGEST_ERROR:]
                return replace(hook, kind="failure", error=error)
            case _:
                return hook

    def format_answer(self, hook: HookInput, text: str) -> str:
        """Plain for a session's start, as all versions take it, otherwise JSON."""
        if not text or hook.event == "SessionStart":
            return text
        said = {"hookEventName": hook.event, "additionalContext": text}
        return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False) + "\n"


def is_path(text: str) -> bool:
    """Whether this can be an absolute path. A path with a NUL or a lone surrogate cannot be passed to the system."""
    with suppress(UnicodeEncodeError):
        return text.startswith("/") and b"\0" not in os.fsencode(text)
    return False


def _text(data: Mapping[str, object], key: str) -> str:
    found = data.get(key)
    return found if isinstance(found, str) else ""
