"""Stage 2: the facts of a project become lines that people and agents read, with the smart tier (SPEC S-20 to S-27)."""
