"""Check event tables against the properties of histories, at any size.

Start with `judge.py`, then `kernel.py`, which reads a run row by row. `unknowns.py` is about runs that leave something
unknown, `batches.py` about many runs at once, and `streams.py` about runs that are not over.
"""
