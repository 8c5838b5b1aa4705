"""The control socket: JSON-RPC 2.0 over a Unix socket, one message a line. docs/socket.md is its reference.

The methods do not belong here: they are in `methods.py`, and the server receives a table of them.
"""
