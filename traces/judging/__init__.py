"""Check one run, simulated or of a table, against the properties of histories.

Start with `judge.py`, then `kernel.py`, which reads a run row by row. `unknowns.py` is about runs that leave something
unknown. Many runs at once, and runs that are not over, are judged in `traces/tables/judging/`.
"""
