"""Bytes to lines to records to sessions and projects. What is done with them is a handler's; nothing here writes."""
