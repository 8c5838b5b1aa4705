"""The plugins of tacitd: one folder for each system, with its handler, commands and prompts.

Code that acts on events belongs here; reading transcripts, dispatch, the model's port and crash-safe files belong to the
engine, `tacitd`. The engine imports no folder of this package; it finds them by their entry points.
"""
