"""Bytes to lines to records to sessions and projects (DESIGN "Sources"). Nothing here writes; handlers decide what is done
with the records.
"""
