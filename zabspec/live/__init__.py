"""Declare liveness: the stable phase of each world, its fairness, and what should eventually happen.

Start with `phase.py`, then `zab.py`. `checker/live/` checks it (docs/explanation/liveness.md).
"""
