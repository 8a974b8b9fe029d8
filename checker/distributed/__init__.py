"""Breadth-first exploration on Spark; each fingerprint has an owner, which keeps the states it has not seen before.

Start with `explore.py`, which goes level by level. Tasks expand parts of a level with the explorer's own kernel
(`expand.py`), and owners absorb what they are sent (`absorb.py`). A level is committed by one rename (`checkpoint.py`).
"""
