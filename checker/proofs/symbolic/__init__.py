"""Models as formulas for z3: bounded model checking, induction, k-induction.

Start with `transition.py`: each step as guard and effect. `bmc.py` and `induction.py` build the queries on it; every
query goes through `solver.py`.
"""
