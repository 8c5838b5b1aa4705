"""The formats of the learner's Markdown files: profile, weaknesses, session history, ledger. Bytes and lines only."""
