"""Define the explorer's worlds: connections and datagrams, their faults, and disks.

Start with `actor.py`, where a protocol and a world meet; then `connections.py`, the steps that are possible in a state
and what each does. `steps.py` has a row for each kind of step.
"""
