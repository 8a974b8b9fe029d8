"""Save each level of an exploration, and resume from it. Start with `checkpoint.py`, then `kept.py`."""
