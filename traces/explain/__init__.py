"""A trace for a person: the text, the sentence why the run violates its property, and other formats.

Start with `text.py`, then `why.py`. `names.py` says how processes, messages and steps are written.
"""
