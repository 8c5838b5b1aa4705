"""The program that the hooks of Claude Code run: it tells the daemon at once what happened in a session. A hint, never needed.

    python3 -I -S hook_program.py STATE_DIR

The plugin runs it, outside any virtual environment, so it must not import tacitd. It hands the hook's JSON from standard input to
the socket of the daemon with this state directory. If no daemon answers, it keeps nothing: the next start compares all files. For
the events in ANSWERED it prints what the daemon has for the session, if that comes in time; a session that starts while no daemon
has run for a day gets one line about that. It exits with 0, whatever happens. In tacitd's own model calls it does nothing
(SPEC S-62).

A prompt waits for this program, so on the usual path it imports only what the interpreter has loaded already, and
`_socket`: importing `json` or `socket` takes as long as starting Python.
"""

import os
import sys
import time

MARK = "TACITD_CHILD"
LONGEST = 1 << 17
"""Bytes of a hook's input that are sent. Of a longer one nothing is: the transcript has it."""
PATIENCE = 0.05
"""Seconds for the socket, so that a daemon that hangs delays nothing."""
ANSWER_PATIENCE = 1.0
"""Seconds for the text of one of the ANSWERED events, after the daemon has shown that it does not hang."""
ANSWERED = (b"SessionStart", b"SubagentStart", b"PostToolUseFailure")
UNCONFIRMED = (b"UserPromptSubmit", b"Stop")
"""A person waits for these. They are sent without waiting until the daemon has read them: without such a hint it finds the
same words in the transcript."""
LONGEST_ANSWER = 64 << 10
"""Bytes of both answers; a context has at most 9,000 characters, each of six bytes if it is escaped."""
STORE = "/tacitd.sqlite"
"""File in the state directory that a running daemon writes every minute, or the log beside it, whose name ends in `-wal`."""
ABSENT = 86_400.0
"""Seconds without a daemon after which a session that starts gets a line about it."""


def read_input() -> bytes:
    """All of standard input; b"" if it is longer than LONGEST. It is read to its end, so that the client can write it."""
    data = bytearray()
    while part := os.read(0, 1 << 16):
        data += part if len(data) <= LONGEST else b""
    return bytes(data) if len(data) <= LONGEST else b""


def send_input(path: str, data: bytes) -> bytes:
    """Call the daemon's method `hint` with this JSON, and `session_text` if the event is answered.

    Return the text as a JSON string with its quotes, b"" if none came in time. Raises OSError.
    """
    import _socket

    deadline = time.monotonic() + PATIENCE
    peer = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    peer.settimeout(PATIENCE)
    peer.connect(path)
    # A newline ends a request; in JSON it is white space, since in a text it is escaped.
    body = data.replace(b"\n", b" ").replace(b"\r", b" ")
    is_answered = has_event(body, ANSWERED)
    is_confirmed = is_answered or not has_event(body, UNCONFIRMED)
    id = b'"id":1,' if is_confirmed else b""  # without an id it is a notification, which is not answered
    request = b'{"jsonrpc":"2.0",' + id + b'"method":"hint","params":{"input":' + body + b"}}\n"
    if is_answered:
        request += b'{"jsonrpc":"2.0","id":2,"method":"session_text","params":{"input":' + body + b"}}\n"
    sent = 0
    while sent < len(request):
        peer.settimeout(max(0.001, deadline - time.monotonic()))
        sent += peer.send(request[sent:])
    got = b"" if is_confirmed else b"\n"
    while got.count(b"\n") < 1 + is_answered:
        try:
            peer.settimeout(max(0.001, deadline - time.monotonic()))
            part = peer.recv(1 << 16)
        except OSError:  # the time is over
            part = b""
        if not part:
            break
        if b"\n" not in got and b"\n" in part:
            deadline += ANSWER_PATIENCE
        got += part
        if len(got) > LONGEST_ANSWER:  # no daemon sends so much
            return b""
    _, _, second = got.partition(b"\n")
    begin = second.find(b'"text":"')
    return second[begin + 7 :] if begin >= 0 and second.endswith(b"\n") else b""


def has_event(body: bytes, events: "tuple[bytes, ...]") -> bool:
    """Whether a hook's input names one of these events."""
    return any(b'"hook_event_name":"' + event + b'"' in body for event in events)


def print_text(text: str) -> None:
    """Print a text on standard output. Raises OSError."""
    left = text.encode("utf-8", "replace")
    while left:
        left = left[os.write(1, left) :]


def find_socket(state: str) -> str:
    """The socket of the daemon, which writes its path to a file at its start. Raises FileNotFoundError if others than this user may
    write in its directory: somebody else could answer there."""
    try:
        fd = os.open(state + "/socket", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        path = os.fsdecode(os.read(fd, 4096)).partition("\n")[0]
    except OSError:
        path = state + "/tacitd.sock"
    directory = os.lstat(path.rpartition("/")[0])
    if directory.st_uid != os.getuid() or directory.st_mode & 0o022:
        raise FileNotFoundError(path)
    return path


def describe_absence(state: str) -> str:
    """A line for a session that starts while no daemon runs; "" if one ran within a day, or it is not known. Raises OSError."""
    last = os.stat(state + STORE).st_mtime  # noqa: PTH116 - importing pathlib takes as long as starting Python
    try:
        log = os.stat(state + STORE + "-wal")  # noqa: PTH116
        last = (
            max(last, log.st_mtime) if log.st_size else last
        )  # an empty one was made by a command that only reads
    except OSError:
        pass
    if time.time() - last < ABSENT:
        return ""
    day = time.strftime("%Y-%m-%d", time.localtime(last))
    return (
        "tacitd has not run since "
        + day
        + ": nothing typed since then is learned. `tacitd start` starts it; tell the person once.\n"
    )


def main() -> None:
    """Read one hook's input, pass it on, and print the answer. Raises OSError, ValueError."""
    data = read_input().strip()
    if os.environ.get(MARK) or len(sys.argv) != 2 or not data.startswith(b"{"):
        return
    try:
        text = send_input(find_socket(sys.argv[1]), data)
    except (FileNotFoundError, ConnectionRefusedError):  # no daemon runs
        if has_event(data, (b"SessionStart",)):
            print_text(describe_absence(sys.argv[1]))
        return
    if text:
        from _json import scanstring  # `json` takes as long to import as Python takes to start

        print_text(scanstring(text.decode(), 1)[0])


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)  # also after an error, without a traceback: the client must not notice anything
