"""When which handler gets which batch, and what follows from its outcome.

What a handler stored and how far it got is in `consumers/`.
"""
