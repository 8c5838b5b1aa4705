"""Living on a machine: what is said at the start, what can be wrong with the machine, and how it is mended."""
