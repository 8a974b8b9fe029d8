"""Judging tables of events, against the naive judge in `zabspec/second/definitions.py`."""
