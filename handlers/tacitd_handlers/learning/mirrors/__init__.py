"""Generated copies of learned lines in a project's `.claude/rules/`, where each session loads them.

`mirror_text`, `mirror_names` and `mirror_edits` are pure. `mirror_record` keeps what was written, `line_sources` decides
which lines were written on this machine, `mirror_files` looks at the copies, `mirror_plan` says what changes, and
`mirror_sync` changes it.
"""
