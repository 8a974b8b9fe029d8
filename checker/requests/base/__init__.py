"""What requests are made of: their base, the fields that several have, and how they are written and read.

Start with `request.py`, then `model.py`, the fields of every request about a model.
"""
