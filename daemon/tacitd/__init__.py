"""tacitd: learns from the transcripts that Claude Code writes, and keeps what it learned in plain files.

This package is the engine: how things run. What is done with an event is in `tacitd_handlers`,
one folder for each system; nothing here names one of them.
"""

__version__ = "0.1.0"
