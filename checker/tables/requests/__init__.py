"""Requests about event tables, one file each. Start with `judge.py`."""
