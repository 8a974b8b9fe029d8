"""Breadth-first exploration on Spark; each fingerprint has an owner, which knows whether it was seen before.

Start with `explore.py`, which goes level by level. Tasks expand shares of a level with the explorer's own kernel
(`expand.py`), owners decide which fingerprints are new (`absorb.py`), and the tasks keep these states (`keep.py`). A
level is committed by one rename (`checker/explore/checkpoints/checkpoint.py`).
"""
