"""Present a trace to a reader: as text, with the reason why the run violates its property, and in other formats.

Start with `text.py`, then `why.py`. `names.py` says how processes, messages and steps are written.
"""
