"""What tacitd adds to a session at its start: the request that plugins answer, the sections together, what
was shown before."""
