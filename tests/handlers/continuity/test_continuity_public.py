"""The text to resume with, made from other people's transcripts, if there are some: the repository contains none.

TACITD_PUBLIC_TRANSCRIPTS names their folder. Each is read whole and cut after 60 %, without a model.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support_continuity import World
from support_transcripts import SOURCE
from tacitd.events import Prompt
from tacitd.sources.explain import judge_transcript
from tacitd_handlers.continuity import resume_text
from tacitd_handlers.continuity.last_session import select_sessions

PUBLIC = os.environ.get("TACITD_PUBLIC_TRANSCRIPTS", "")
FILES = sorted(Path(PUBLIC).glob("**/*.jsonl")) if PUBLIC else []
pytestmark = pytest.mark.skipif(not FILES, reason="TACITD_PUBLIC_TRANSCRIPTS names no transcripts")

BOILERPLATE = (
    "This session is being continued", "ran out of context", "<system-reminder", "If you need specific details",
    "continue the conversation from where", "Caveat: The messages below", "<command-", "<local-command", "Request interrupted",
    "Continue with the last task that you were asked",
)  # fmt: skip


def spoken(source: bytes) -> str:
    """Everything that the assistant and the client's summaries say, read independently of the handler; a line is a line."""
    made: list[str] = []
    for line in source.splitlines():
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        blocks = [{"text": content}] if isinstance(content, str) else content
        made += (str(one["text"]) for one in blocks if isinstance(one, dict) and "text" in one)
    return "\n".join(" ".join(line.split()) for text in made for line in text.splitlines())


def is_whole(line: str, source: str) -> bool:
    """Whether a line of the output ends where a sentence, a list item or a line of the source ends."""
    text = " ".join(re.sub(r"^> (?:Assistant: )?|^(?:In progress|Next|Pending|Asked): ?", "", line).split())
    if not text or text == "…" or re.match(r"… and \d+ more", text):
        return True
    last = re.split(r"(?<=[.!?]) ", text[-40:])[-1]  # code between two sentences is left out
    end = re.escape(last[:-1]) + (re.escape(text[-1]) if text[-1] != "." else "[.:]")
    # A wrapped paragraph is one line in the output.
    end = end.replace("\\ ", r"\s+")
    after = r"(?:\s|$)" if re.search(r"[.!?:;…。][\"')*_`\]]*$", text) else r"(?:\n|$)"
    return re.search(end + after, source) is not None


@pytest.mark.parametrize("share", [1.0, 0.6], ids=["whole", "cut"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_session_can_be_resumed(tmp_path: Path, path: Path, share: float) -> None:
    """SPEC P-26: the last session is named, never empty where a prompt was typed, without cuts and without the client's text."""
    source = path.read_bytes()
    source = source[: source.rfind(b"\n", 0, round(len(source) * share)) + 1]
    world = World(tmp_path, summaries="false")
    (world.folder / path.name).write_bytes(source)
    world.end()
    texts, sessions = spoken(source), world.store.list_sessions()
    prompts = [prompt for prompt in read_prompts(world.folder / path.name) if prompt.text.strip()]
    typed = {prompt.session for prompt in prompts if not re.fullmatch(r"/[\w:-]+", prompt.text.strip())}
    typed |= find_planned(source)
    assert {one.id for one in sessions} == typed
    for last in sessions[:1]:
        found = select_sessions(sessions, Path(last.project))
        assert found[0].id == last.id
        documents, state = [one.document for one in found], world.store.load_progress(found[0].id)
        text = resume_text.build_resume_text(documents, world.clock.now(), state=state)
        lines = text.splitlines()
        assert lines[0].startswith("## The last session here (")
        assert any(line.startswith("> You: ") for line in lines), text
        assert len(lines) <= resume_text.LINES
        for words in BOILERPLATE:
            assert words not in text
        quoted = [line for line in lines if line.startswith(">") and not line.startswith("> You: ")]
        for line in [*str(last.document.get("summary", "")).splitlines(), *quoted]:
            assert is_whole(line, texts), line
    world.kill()


def find_planned(source: bytes) -> set[str]:
    """The sessions into which the client put a plan that the person accepted."""
    made = set[str]()
    for line in source.splitlines():
        try:
            record = json.loads(line)
            content = record["message"]["content"]
        except (ValueError, KeyError, TypeError):
            continue
        blocks = [{"text": content}] if isinstance(content, str) else content
        text = next((str(one["text"]) for one in blocks if isinstance(one, dict) and "text" in one), "")
        if record["type"] == "user" and text.startswith("Implement the following plan:"):
            made.add(record["sessionId"])
    return made


def read_prompts(path: Path) -> Iterator[Prompt]:
    for judged in judge_transcript(path, SOURCE):
        yield from judged.prompts
