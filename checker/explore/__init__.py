"""The explorer: visits every state within the budgets, in machine code or in CPython.

Start with `breadth_first.py`, then `kernel.py`, its inner loops; `compiled.py` makes machine code of both model and
kernel. `interpret.py` is the slow reference. `reduced.py` (sleep sets) and `ample.py` leave out steps and states.
"""
