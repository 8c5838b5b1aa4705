"""How fast transcripts are read: `cat`, `orjson.loads` on each line, and tacitd's reader, side by side.

    python benchmarks/reader.py [--size 1GB] [--old-client] [--files DIR] [--rounds 3]

Writes a corpus to a temporary directory (deterministic, removed afterwards), or copies the transcripts in DIR there until
they have that size. Runs each reader in a fresh process, in rounds, and prints seconds (the best on the wall and of the
processor), the ratio of processor time to orjson and the peak memory of each, then what is asked beside what is reached; ends
with 1 if something is missed.

`orjson` is the loop that one writes without thinking, `for line in open(path, "rb"): orjson.loads(line)`; the row below it
reads through a buffer of 1 MB, so that what the buffer is worth and what the decoding is worth can be told apart. `msgspec` is
the least that a reader of JSON can do: each line is decoded into a struct of a few fields, and the body is skipped.
`tacitd scan` is the command as a whole process, the others are without their imports. `--old-client` leaves out the
`api-request*` lines that clients before 2.1.3 do not write and that tacitd's reader skips undecoded.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING

ASKED = (
    ("tacitd, of orjson", "tacitd", "orjson", 1.2),
    ("tacitd, of msgspec", "tacitd", "msgspec", 2.8),
    ("tacitd scan, of orjson with the buffer", "tacitd scan", "orjson, 1 MB buffer", 1.9),
)
"""What is measured, and the most that is asked. Without api-request lines the first one is not asked."""
MEMORY = {"tacitd": 40.0, "tacitd scan": 60.0}
"""Peak MB."""

if TYPE_CHECKING:
    from tacitd.sources.source import Source

_BLOCK = 32 << 20
_MARK = b"00000000-bbbb-4bbb-8bbb-"
_UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}

Line = dict[str, object]


# --- the corpus --------------------------------------------------------------------------------------------


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


# --- the readers -------------------------------------------------------------------------------------------


def with_cat(files: list[Path]) -> str:
    subprocess.run(["cat", *files], stdout=subprocess.DEVNULL, check=True)
    return ""


def with_orjson(files: list[Path]) -> str:
    import orjson

    return _each_line(files, -1, orjson.loads)


def with_orjson_buffered(files: list[Path]) -> str:
    import orjson

    return _each_line(files, 1 << 20, orjson.loads)


def with_msgspec(files: list[Path]) -> str:
    import msgspec

    fields = [(name, str | None, None) for name in ("type", "sessionId", "cwd", "timestamp", "uuid")]
    body = [(name, msgspec.Raw, msgspec.Raw()) for name in ("message", "toolUseResult")]
    kind = msgspec.defstruct("Bare", [*fields, *body], gc=False)
    return _each_line(files, 1 << 20, msgspec.json.Decoder(kind).decode)


def _each_line(files: list[Path], buffering: int, decode: Callable[[bytes], object]) -> str:
    count = 0
    for path in files:
        with path.open("rb", buffering=buffering) as lines:
            for line in lines:
                with suppress(ValueError):  # a transcript may contain damaged lines
                    decode(line)
                count += 1
    return f"{count} lines"


def with_tacitd(files: list[Path]) -> str:
    """Every prompt with its context, which is what most handlers want."""
    from tacitd.sources.transcript import read_prompts

    source = _source(files)
    return f"{sum(1 for path in files for _ in read_prompts(source, path))} prompts"


def with_tacitd_records(files: list[Path]) -> str:
    """The same, and all that the assistant said and called made into records."""
    from tacitd.sources.transcript import Tail

    source, found = _source(files), 0
    for path in files:
        tail, more = Tail(path, 0, source), True
        while more:
            more = tail.read_next_slice().more
            found += len(tail.list_records(0))
            tail.assembler.forget_before(tail.safe_end)
    return f"{found} records"


def _source(files: list[Path]) -> Source:
    from tacitd.sources.registry import make_source
    from tacitd.sources.source import OwnCalls

    return make_source(files[0].parent, OwnCalls(cwd="/nonexistent", sentinel="tacitd:", sessions=set()))


def with_scan(files: list[Path]) -> str:
    """`tacitd scan --dry-run`, on a corpus that lies where a client's transcripts lie."""
    home = next(folder.parent for folder in files[0].parents if folder.name == "projects")
    # A variable of a test run, such as the folder of these transcripts, is no setting, and the command would refuse it.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TACITD_")} | {
        "CLAUDE_CONFIG_DIR": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        # As installed, with compiled modules: compiled by the first round.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(home / "compiled"),
    }
    program = Path(sys.executable).with_name("tacitd")
    command = [str(program), "scan", "--since", "36500d", "--dry-run"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


READERS: dict[str, Callable[[list[Path]], str]] = {
    "cat": with_cat,
    "orjson": with_orjson,
    "orjson, 1 MB buffer": with_orjson_buffered,
    "msgspec": with_msgspec,
    "tacitd": with_tacitd,
    "tacitd, all records": with_tacitd_records,
    "tacitd scan": with_scan,
}
_CHILDREN = frozenset({"cat", "tacitd scan"})
"""Those that are processes of their own."""


_OURS = ("tacitd.sources.registry", "tacitd.sources.claude_code.transcripts", "tacitd.sources.transcript")
IMPORTS = {
    "orjson": ("orjson",),
    "orjson, 1 MB buffer": ("orjson",),
    "msgspec": ("msgspec",),
    "tacitd": _OURS,
    "tacitd, all records": _OURS,
}


def run(name: str, folder: Path) -> None:
    """In a fresh process: read the corpus, print seconds, peak memory in MB, and what was found."""
    for module in IMPORTS.get(name, ()):
        import_module(module)  # what is measured is reading, for all of them
    files = sorted(folder.rglob("*.jsonl"))
    began, busy = time.perf_counter(), _busy(name)
    found = READERS[name](files)
    seconds, worked = time.perf_counter() - began, _busy(name) - busy
    print(json.dumps([seconds, worked, _peak(name), found]))


def _busy(name: str) -> float:
    """Seconds of processor so far, this process's or (for `cat` and the command) its children's: what others do counts less."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN if name in _CHILDREN else resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _peak(name: str) -> float:
    status = Path("/proc/self/status")
    if name not in _CHILDREN and status.exists():
        # Why: ru_maxrss on Linux keeps what the parent had before exec; VmHWM is this process alone.
        high = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        return int(high[1]) / 1024 if high else 0.0
    who = resource.RUSAGE_CHILDREN if name in _CHILDREN else resource.RUSAGE_SELF
    return resource.getrusage(who).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


@dataclass(frozen=True, slots=True)
class Result:
    """The best of some rounds: seconds on the wall and of the processor, and the highest memory in MB."""

    wall: float
    busy: float
    peak: float
    found: str


def measured(folder: Path, rounds: int) -> dict[str, Result]:
    """Every reader once in each round, so that a noisy minute falls on all of them."""
    outs: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in READERS}
    for _ in range(rounds):
        for name, results in outs.items():
            command = [sys.executable, __file__, "--run", name, str(folder)]
            results.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    return {
        name: Result(
            min(r[0] for r in results), min(r[1] for r in results), max(r[2] for r in results), results[0][3]
        )
        for name, results in outs.items()
    }


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--size", default="1GB", help="of the corpus: 200MB, 1GB")
    asked.add_argument("--old-client", action="store_true", help="no api-request lines")
    asked.add_argument("--files", type=Path, help="real transcripts instead, copied until they have the size")
    asked.add_argument("--rounds", type=int, default=3, help="the fastest of so many counts")
    asked.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.run:
        run(given.run[0], Path(given.run[1]))
        return 0
    return compare(parse_size(given.size), given.old_client, given.files, given.rounds)


def parse_size(text: str) -> int:
    """Given a number and KB, MB or GB, return the bytes."""
    found = re.fullmatch(r"([\d.]+)\s*([KMG]B)?", text.upper())
    if found is None:
        raise SystemExit(f"{text}: a number and KB, MB or GB, such as 200MB")
    return int(float(found[1]) * _UNITS[found[2] or ""])


def compare(size: int, old_client: bool, files: Path | None, rounds: int) -> int:
    """Make the corpus, run all readers, print the tables; 1 where something is missed."""
    with tempfile.TemporaryDirectory(prefix="tacitd-reader-") as home:
        folder = Path(home) / "projects" / "corpus"
        folder.mkdir(parents=True)
        if files is None:
            Corpus(old_client).write(folder / "corpus.jsonl", size)
            kind = "without api-request lines" if old_client else "as of Claude Code 2.1.328"
        else:
            copy_files(files, folder, size)
            kind = f"copied from {files}"
        written = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        print(f"{written / 1e6:.0f} MB, {kind}\n")
        results = measured(Path(home), rounds)
    yardstick = results["orjson"].busy
    print(f"{'reader':21}{'seconds':>9}{'processor':>11}{'of orjson':>11}{'peak MB':>9}")
    for name, one in results.items():
        share = one.busy / yardstick
        print(f"{name:21}{one.wall:9.2f}{one.busy:11.2f}{share:11.2f}{one.peak:9.1f}  {one.found}")
    print(f"\n{'':42}{'asked':>9}{'reached':>9}")
    rows = [
        (what, most, results[name].busy / results[other].busy)
        for what, name, other, most in ASKED
        if other != "orjson" or not (old_client or files)
    ]
    rows += [(f"{name}, peak MB", most, results[name].peak) for name, most in MEMORY.items()]
    for what, most, reached in rows:
        print(f"{what:42}{most:9.1f}{reached:9.2f}{'' if reached <= most else '  missed'}")
    return 0 if all(reached <= most for _, most, reached in rows) else 1


def copy_files(files: Path, folder: Path, size: int) -> None:
    """Copy the transcripts below `files` into a folder, again and again, until the copies have about `size` bytes."""
    found = sorted(files.rglob("*.jsonl"))
    written = 0
    for number in count():
        for path in found:
            place = folder / f"{number}-{path.parent.name}"
            place.mkdir(exist_ok=True)
            copyfile(path, place / path.name)
            written += path.stat().st_size
        if written >= size or not written:
            return


if __name__ == "__main__":
    sys.exit(main())
