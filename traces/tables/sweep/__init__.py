"""Sweeps: simulated runs of one grid, and what their results have in common.

Start with `grid.py`, then `block.py`. `local.py` plays them in processes of this machine, `frames.py` as a DataFrame.
"""
