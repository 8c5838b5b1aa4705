"""Stage 1: extract facts from gathered prompts with one call of the fast tier (SPEC S-01 to S-08)."""
