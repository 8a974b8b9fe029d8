"""Walk by hand through the states of a model: the current place, its possible steps, and their effects.

Start with `walker.py`: a place in the state space, and what the interpreted world says of it. `address.py` writes a
place as text, `view.py` says what a page shows of it, `saved.py` makes a trace of it. Nothing here knows HTTP.
"""
