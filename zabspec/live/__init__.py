"""Liveness, declared: the stable phase of each world, what is fair in it, and what should eventually happen.

Start with `phase.py`, then `zab.py`. `checker/live/` checks it (docs/explanation/liveness.md).
"""
