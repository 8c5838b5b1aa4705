"""The status socket: JSON-RPC 2.0 over a Unix socket, one message a line. docs/socket.md is its reference.

Nothing here knows what a method does: the engine hands in a table of them.
"""
