"""Random search for a violation if the state space is too large to explore; it never reports that a property holds.

Start with `search.py`: numbered random walks on all cores. `kernel.py` takes the steps.
"""
