"""Simulate protocols deterministically: a clock, a heap of mail, connections or datagrams, and scheduled faults.

Start with `loop.py`, what happens in a tick; `plan.py` is what a run is, `run.py` plays it. It runs the same handlers
as the explorer and shares no step with it.
"""
