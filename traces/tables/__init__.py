"""A wing: event tables of guests, and of many runs. Start with `conform.py`, then `judging/` and `sweep/`."""
