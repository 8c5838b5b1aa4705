"""Types of msgspec are built at import: it crashes when several threads use a type for the first time at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys, threading
from tacitd_handlers.continuity import session_document
from tacitd_handlers.tutor import session_log

plan = b'{"v": 1, "at": 1.0, "event": "started", "plan": {"objectives": [{}]}}'
CALLS = [
    lambda: session_document.find_fault({"sessionId": "a", "tasks": [{}]}),
    lambda: session_log.replay_session([plan]),
]

def run():
    for call in CALLS:
        barrier.wait()
        try:
            call()
        except Exception:
            pass

crashed = 0
for _ in range(40):
    if not (child := os.fork()):
        sys.setswitchinterval(1e-6)
        barrier = threading.Barrier(2)
        threads = [threading.Thread(target=run) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        os._exit(0)
    crashed += os.waitpid(child, 0)[1] != 0
print(crashed)
"""
ALLOWED = {
    ("converter.py", "__init__"),
    ("converter.py", "convert"),
    ("records.py", "_struct"),  # of an object its fields as they are, without a struct
    ("records.py", "decode_raw"),  # the types of fields, which the decoder of the record built
    ("fields.py", "_make_checker"),  # called when the module is imported
}
BUILT_IN = {"dict", "list", "str", "Any"}


def test_threads_that_begin_at_once_do_not_crash() -> None:
    """RELIABILITY "Crash": the threads of a daemon's start read the state of several plugins."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def list_calls(node: ast.AST, inside: str = "") -> Iterator[tuple[ast.Call, str]]:
    """The calls below a node, each with the name of the function that it is in; "" for none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, inside
        name = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        yield from list_calls(child, "lambda" if isinstance(child, ast.Lambda) else name)


def builds_a_type(call: ast.Call) -> bool:
    """Whether msgspec may build the type of a struct in this call."""
    words = ast.unparse(call.func)
    if words.endswith(("json.decode", "toml.decode", "yaml.decode", "msgpack.decode")):
        kinds = [one.value for one in call.keywords if one.arg == "type"]
        return any(
            one.id not in BUILT_IN for kind in kinds for one in ast.walk(kind) if isinstance(one, ast.Name)
        )
    return words in ("convert", "msgspec.convert", "Converter") or (
        words.endswith("Decoder") and words != "json.JSONDecoder" and "incremental" not in words
    )


def test_no_type_is_built_after_import() -> None:
    """Each call that may build a type of msgspec's is outside of functions; what is converted later has a `Converter`."""
    found = {
        (path.name, inside)
        for part in ("daemon", "handlers")
        for path in (ROOT / part).rglob("*.py")
        for call, inside in list_calls(ast.parse(path.read_text(encoding="utf-8")))
        if inside and builds_a_type(call)
    }
    assert found <= ALLOWED, found - ALLOWED
