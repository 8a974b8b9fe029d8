"""The explorer: visits every state within the budgets, in machine code or in CPython.

Start with `breadth_first.py`, then `kernel.py`, its inner loops; `compiled.py` compiles both model and kernel to
machine code. `interpret.py` is the slow reference. `reduce/ample.py` leaves out states.
"""
