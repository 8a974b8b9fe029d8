"""Audit the data directories of an ensemble. Start with `audit.py`, then `findings.py`."""
