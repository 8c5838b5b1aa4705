"""The command line. `program` has the table of commands; the quick modules answer common commands without click."""
