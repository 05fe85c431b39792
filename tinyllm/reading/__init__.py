"""Bytes to records: which files, what container, which line; nothing of what a record means."""
