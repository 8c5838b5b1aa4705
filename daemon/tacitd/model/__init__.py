"""The language model: the port, the adapter to Claude Code's command line, its budget and its guards (DESIGN "The model")."""
