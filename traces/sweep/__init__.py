"""Sweeps: a hundred thousand simulated runs of one grid on Spark, and what their results have in common.

Start with `grid.py`, then `block.py` and `job.py`. `store.py` is the folder of a sweep, which can be resumed.
"""
