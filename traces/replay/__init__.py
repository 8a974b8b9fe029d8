"""A trace replayed in the simulator, compared with the explorer's run after every step.

Start with `replay.py`. `scripted.py` is the simulator under a script, `abstraction.py` its state in the explorer's
schema.
"""
