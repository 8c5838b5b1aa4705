"""A tool's input that is not UTF-8 does not keep learning from the rest of the transcript."""

from __future__ import annotations

import json
from pathlib import Path

from support_learning import LearningBench


def test_a_path_that_is_not_utf8_is_passed_over(tmp_path: Path) -> None:
    """RELIABILITY 9: invalid UTF-8 in a transcript."""
    with LearningBench(tmp_path) as bench:
        bench.learn("use pnpm, not npm", "Use pnpm, not npm")
        (path,) = [Path(one) for (one,) in bench.bench.rows("SELECT path FROM transcript")]
        last = json.loads(path.read_bytes().splitlines()[-1])
        record = {
            **{key: last[key] for key in ("sessionId", "cwd", "timestamp", "version") if key in last},
            "type": "assistant",
            "uuid": "a1",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/x/QQ.py"}}
                ],
            },
        }
        with path.open("ab") as file:
            file.write(json.dumps(record).encode().replace(b"QQ", b"caf\xe9") + b"\n")
        bench.bench.settle(5.0)
        assert bench.bench.rows("SELECT plugin, reason FROM behind") == []
