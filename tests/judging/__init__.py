"""Judging tables of events, against the naive judge in `tests/definitions.py`."""
