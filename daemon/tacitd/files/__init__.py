"""Durable files: the log, the replaced file, and the transaction over several. Nothing else in tacitd writes.

What this folder promises:

- A record appended with `sync`, or before `flush` returned, is there after a power cut, whole. At most the
  last line of a log is ever torn, and a torn line costs nothing but itself.
- A replaced file is the old one or the new one, at every moment, with its mode, its owner and its symlink.
- A transaction is finished or absent, also when the process ended in the middle: what was begun is finished
  at the next start.
- In a file that people edit too, every byte that is not ours stays, and whatever they save wins. A file that is being
  edited is waited for, for a limited time.
- A file that cannot be written as it is (conflict markers, not UTF-8, a link that leads out of the project)
  raises FileRefusedError before anything was changed.

Every system call goes through `Disk`, so all of this is tested by failing each of them in turn. Nothing here
knows of transcripts, handlers or the model.
"""

from tacitd.files.busy import BusyFiles
from tacitd.files.disk import Disk, RealDisk
from tacitd.files.intents import Pending, Transaction
from tacitd.files.locks import Lock, hold, private_dir
from tacitd.files.log import Log
from tacitd.files.markdown import has_line, lines_of, put_line, swap_line, take_line
from tacitd.files.names import move, remove
from tacitd.files.operations import (
    AppendLine,
    Effect,
    MakeFile,
    Operation,
    PutLine,
    RemoveFile,
    SwapLine,
    TakeLine,
    WriteFile,
)
from tacitd.files.provenance import LineHistory
from tacitd.files.replaced import EditGuards, edit, replace
from tacitd.files.second_look import Recovered, SecondLook
from tacitd.files.temporary import TEMP_PREFIX
from tacitd.files.transaction import History

__all__ = [
    "TEMP_PREFIX",
    "AppendLine",
    "BusyFiles",
    "Disk",
    "EditGuards",
    "Effect",
    "History",
    "LineHistory",
    "Lock",
    "Log",
    "MakeFile",
    "Operation",
    "Pending",
    "PutLine",
    "RealDisk",
    "Recovered",
    "RemoveFile",
    "SecondLook",
    "SwapLine",
    "TakeLine",
    "Transaction",
    "WriteFile",
    "edit",
    "has_line",
    "hold",
    "lines_of",
    "move",
    "private_dir",
    "put_line",
    "remove",
    "replace",
    "swap_line",
    "take_line",
]
