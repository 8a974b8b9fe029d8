"""Model a world with a clock, network interfaces and disks, to find how fast Phase 3 is and what bounds it.

Start with `world.py`; `run.py` plays it and measures, `planned.py` computes the same without a run.
"""
