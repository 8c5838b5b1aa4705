"""The daemon as a service: start, signals, service managers, doctor and uninstall.

The engine does not belong here, and neither do the commands that call this package: those are in `cli/`.
"""
