"""The daemon as a service: start, signals, service managers, doctor and uninstall."""
