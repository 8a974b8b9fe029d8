"""Typed trees, and what is decided over them. Start with `tree.py`, then `effects.py`."""
