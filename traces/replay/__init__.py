"""Replay a trace in the simulator, and compare every step with the explorer's run.

Start with `replay.py`. `scripted.py` is the simulator under a script, `abstraction.py` its state in the explorer's
schema.
"""
