"""Durable files: those that people edit too, the appended and the replaced file (DESIGN "Files").

- A replaced file is either the old one or the new one at every moment. Its mode, owner and symlink are kept.
- A change that was planned is finished or absent. If the process ends in the middle, the next start finishes it.
- In a file that people edit too, every byte that is not tacitd's is kept, and what a person saves takes precedence.
  If such a file is being edited, tacitd waits for it for a limited time.
- A file that cannot be written as it is (conflict markers, not UTF-8, a link that leads out of the project)
  raises FileRefusedError before anything is changed.
"""
