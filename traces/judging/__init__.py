"""Event tables checked against the properties of histories, at any size.

Start with `judge.py`, then `kernel.py`, which reads a run row by row. `partial.py` is for runs that leave something
unknown; `blocks.py` and `history.py` are for one history too long for a task.
"""
