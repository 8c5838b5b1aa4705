"""A program whose clock a test moves.

The kernel's clock cannot be set by a test, so the daemon's process is started with one that the test moves by a FIFO.
"""

from __future__ import annotations

MOVED = """
import sys, threading, time_machine
fifo, start, *program = sys.argv[1:]
traveller = time_machine.travel(float(start), tick=True).start()
def follow():
    while True:
        with open(fifo) as times:
            for line in times:
                traveller.move_to(float(line))
threading.Thread(target=follow, daemon=True).start()
sys.argv = ["tacitd", *program[3:]]
from tacitd_handlers.entry_point import main
main()
"""
"""To be run with `python -c`: a FIFO, the time at the start, and the program. Each line of the FIFO is a new time, in seconds since
1970."""
