"""The report: typed sections of the engine and of the plugins, rendered as one HTML page or as JSON.

`sections` is what a plugin's hook returns; `buckets` divides time; `charts` and `page` are pure; `engine_sections` reads the
budget's log and the history log. Nothing here is stored.
"""
