"""The control socket: JSON-RPC 2.0 over a Unix socket, one message a line. docs/socket.md is its reference."""
