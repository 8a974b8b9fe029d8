"""Answers of requests about proofs. Start with `induction.py`."""
