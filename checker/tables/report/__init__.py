"""Answers of requests about event tables. Start with `judged.py`."""
