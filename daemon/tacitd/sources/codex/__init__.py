"""Codex CLI as a source: `rollouts` says where its rollouts are, `rollout_lines` whose words a line has, and `rollout_reader` makes
records of them. Only `sources/registry.py` imports this folder.
"""
