"""Check event tables against the properties of histories, at any size.

Start with `judge.py`, then `kernel.py`, which reads a run row by row. `bounds.py` fills in runs that leave
something unknown, for the kernel; `blocks.py` and `history.py` are for one history too long for a task.
"""
