"""Shorten or reduce counterexamples (`minimise.py`), or reproduce them as seeded runs (`realise.py`).

Start with `minimise.py`.
"""
