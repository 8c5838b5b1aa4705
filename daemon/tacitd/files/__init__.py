"""Durable files: the log, the replaced file, and the transaction over several files (DESIGN "Files").

Guarantees:

- A record that was appended with `sync`, or before `flush` returned, is complete after a power cut. Only the last
  line of a log can be torn, and a torn line affects no other line.
- A replaced file is either the old one or the new one at every moment. Its mode, owner and symlink are kept.
- A transaction is finished or absent. If the process ends in the middle, the next start finishes it.
- In a file that people edit too, every byte that is not tacitd's is kept, and what a person saves takes precedence.
  If such a file is being edited, tacitd waits for it for a limited time.
- A file that cannot be written as it is (conflict markers, not UTF-8, a link that leads out of the project)
  raises FileRefusedError before anything is changed.

Every system call goes through `Disk`, so the tests can make each call fail in turn. Code about transcripts, handlers
or the model does not belong here.
"""
