"""Stage 1: gathered prompts become facts, with one call of the fast tier (SPEC S-02 to S-05)."""
