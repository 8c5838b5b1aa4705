"""Stage 2: write a project's facts as lines of LEARNED.md and AGENTS.md, with the smart tier (SPEC S-20 to S-37)."""
