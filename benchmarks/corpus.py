"""A transcript of any size in the shape that the client writes: the same one each time."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

_BLOCK = 32 << 20
_MARK = b"00000000-bbbb-4bbb-8bbb-"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}

Line = dict[str, object]


class Corpus:
    """Lines in the shape of Claude Code 2.1.328, the lengths as in real sessions."""

    def __init__(self, old_client: bool) -> None:
        self.rng = random.Random(20261120)
        self.old = old_client
        self.cwd = "/home/dev/project"
        self.typed_every = 1
        """One of so many turns begins with words of a person; the others with words of the client."""
        self.turns = 0
        self.count = 0
        syllables = [a + b for a in "bcdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "an", "er")]
        self.words = ["".join(self.rng.choices(syllables, k=self.rng.randint(1, 4))) for _ in range(4000)]

    def write(self, path: Path, size: int) -> None:
        """Write about `size` bytes: one block of distinct lines again and again, with other uuids."""
        block = b"".join(self.lines(min(size, _BLOCK)))
        with path.open("wb") as out:
            for n in range(max(1, size // len(block))):
                out.write(block.replace(_MARK, b"%08x-bbbb-4bbb-8bbb-" % n))

    def lines(self, size: int) -> Iterator[bytes]:
        written = 0
        while written < size:
            for line in self.session():
                raw = json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
                written += len(raw)
                yield raw

    def session(self) -> Iterator[Line]:
        """Some prompts; new clients write their system prompt, tools and listings first, in two forms."""
        if not self.old:
            yield from self.preamble()
        for _ in range(self.rng.randint(1, 5)):
            yield from self.turn()

    def preamble(self) -> Iterator[Line]:
        for kind, size in (("skill_listing", 13_500), ("agent_listing_delta", 4_600), ("environment", 1_400)):
            yield self.attachment(kind, self.prose(size // 7))
        for _ in range(2):
            yield self.attachment("prompt_snapshot", self.prose(33_500 // 7))
        shape = {"system": [{"type": "text", "text": self.prose(40_000 // 7)}]}
        yield {"type": "api-request-shape", "sessionId": self.uuid(), "shape": shape}

    def turn(self) -> Iterator[Line]:
        """What one prompt leads to: some 50 lines, 1 of them typed."""
        yield {
            "type": "file-history-snapshot",
            "messageId": self.uuid(),
            "snapshot": {"trackedFileBackups": {}},
        }
        said = self.typed() | ({"isMeta": True} if self.turns % self.typed_every else {})
        self.turns += 1
        yield said
        for _ in range(self.rng.randint(4, 11)):
            if not self.old:
                yield from self.api_request(said)
            if self.rng.random() < 0.3:
                yield self.assistant({"type": "thinking", "thinking": "", "signature": self.base64(900)})
            if self.rng.random() < 0.4:
                yield self.assistant({"type": "text", "text": self.prose(self.rng.randint(20, 200))})
            yield self.assistant(self.tool_use())
            said = self.image() if self.rng.random() < 0.006 else self.tool_result()
            yield said
        yield self.common("system") | {"subtype": "turn_duration", "durationMs": 4298, "messageCount": 19}
        yield {"type": "last-prompt", "lastPrompt": self.prose(12), "sessionId": self.uuid()}

    def uuid(self) -> str:
        self.count += 1
        return f"{_MARK.decode()}{self.count:012x}"

    def common(self, kind: str) -> Line:
        return {
            "type": kind,
            "uuid": self.uuid(),
            "timestamp": "2026-11-20T04:46:54.863Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": "1254ce28-513c-40d7-b565-c3ab13440906",
            "version": "2.1.328",
            "gitBranch": "main",
        }

    def typed(self) -> Line:
        text = self.prose(self.rng.choice([3, 8, 15, 15, 30, 120]))
        more = {"origin": {"kind": "human"}, "promptSource": "typed", "turnOrigin": "human"}
        head: Line = {"parentUuid": self.uuid(), "isSidechain": False, "promptId": self.uuid()}
        return head | {"message": {"role": "user", "content": text}} | more | self.common("user")

    def assistant(self, block: Line) -> Line:
        usage = {
            "input_tokens": 14768,
            "cache_creation_input_tokens": 0,
            "output_tokens": 35,
            "service_tier": "x",
        }
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [block]}
        head: Line = {"parentUuid": self.uuid(), "isSidechain": False, "message": message | {"usage": usage}}
        return head | {"requestId": "req_1"} | self.common("assistant")

    def tool_use(self) -> Line:
        kind, path = self.rng.random(), "/home/dev/project/x.py"
        if kind < 0.1:
            given = {"file_path": path, "content": self.code(self.rng.randint(40, 160))}
            return {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": given}
        if kind < 0.4:
            given = {"file_path": path, "old_string": self.code(9), "new_string": self.code(11)}
            return {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": given}
        return {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": self.prose(12)}}

    def tool_result(self) -> Line:
        text = self.code(int(self.rng.paretovariate(0.9) * 12) % 800)
        block = {"tool_use_id": "toolu_1", "type": "tool_result", "content": text, "is_error": False}
        result: Line = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
        if self.rng.random() < 0.3:
            hunk = {
                "oldStart": 1,
                "oldLines": 9,
                "newStart": 1,
                "newLines": 11,
                "lines": text.split("\n")[:60],
            }
            result = {"filePath": "/home/dev/project/x.py", "originalFile": text, "structuredPatch": [hunk]}
        head: Line = {"parentUuid": self.uuid(), "isSidechain": False}
        head["message"] = {"role": "user", "content": [block]}
        return head | {"toolUseResult": result} | self.common("user")

    def image(self) -> Line:
        data = self.base64(self.rng.randint(50_000, 400_000))
        block = {"type": "image", "source": {"type": "base64", "data": data, "media_type": "image/png"}}
        content = [{"tool_use_id": "toolu_1", "type": "tool_result", "content": [block]}]
        head: Line = {"parentUuid": self.uuid(), "message": {"role": "user", "content": content}}
        return head | {"toolUseResult": {"type": "image", "file": {"base64": data}}} | self.common("user")

    def attachment(self, kind: str, text: str) -> Line:
        head: Line = {"parentUuid": self.uuid(), "isSidechain": False}
        return head | {"attachment": {"type": kind, "content": text}} | self.common("attachment")

    def api_request(self, said: Line) -> Iterator[Line]:
        """What was said goes to the API, and a copy of it into the transcript."""
        yield {
            "type": "api-request-blob",
            "sessionId": self.uuid(),
            "hash": self.base64(48),
            "blob": said["message"],
        }
        yield {
            "type": "api-request",
            "sessionId": self.uuid(),
            "id": self.uuid(),
            "timestamp": "2026-11-20T04:46:54.863Z",
            "version": "2.1.328",
            "shapeHash": self.digest(),
            "params": {"model": "m", "betas": self.prose(30).split(), "max_tokens": 128000},
            "keep": 0,
            "tail": [self.digest() for _ in range(self.rng.randint(1, 6))],
            "cacheControl": [{"path": ["system", at], "value": {"type": "ephemeral"}} for at in range(3)],
            "requestDigest": self.digest(),
        }
        yield self.attachment("total_tokens_reminder", self.prose(10))

    def prose(self, words: int) -> str:
        return " ".join(self.rng.choices(self.words, k=words))

    def code(self, lines: int) -> str:
        made = (
            '    return {"%s": "%s", \'%s\': [%d]}',
            "def %s(%s):  # %s %d",
            "%s.%s(%s, %d)  → ok",
            "\t%s %s %s %d",
        )
        pick = self.rng.choices
        return "\n".join(
            form % (*pick(self.words, k=3), n) for n, form in enumerate(pick(made, k=max(lines, 1)))
        )

    def digest(self) -> str:
        return self.rng.randbytes(32).hex()

    def base64(self, size: int) -> str:
        return base64.b64encode(self.rng.randbytes(size * 3 // 4)).decode()


def parse_size(text: str) -> int:
    """Given a number and KB, MB or GB, return the bytes."""
    found = re.fullmatch(r"([\d.]+)\s*([KMG]B)?", text.upper())
    if found is None:
        raise SystemExit(f"{text}: a number and KB, MB or GB, such as 200MB")
    return int(float(found[1]) * _UNITS[found[2] or ""])
