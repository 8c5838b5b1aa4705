"""Codex CLI as a source: where its rollouts are, whose words a line has, and what makes records of them."""
