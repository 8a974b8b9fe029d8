"""Requests about proofs, one file each. Start with `induct.py`."""
