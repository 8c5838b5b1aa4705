"""Durable files: those that people edit too, the appended and the replaced file (DESIGN "Files that people edit too")."""
