"""Random search for a violation where exploring every state is out of reach; it never reports that a property holds.

Start with `search.py`: numbered random walks on all cores, also best first. `kernel.py` takes the steps.
"""
