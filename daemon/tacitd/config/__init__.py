"""The configuration: the settings, their types, and spans of time as people write them."""
