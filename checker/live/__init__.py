"""Liveness: whether everything that should eventually happen does, in every fair run (docs/explanation/liveness.md).

Start with `run.py`: it explores the fault phase, then the stable phase as one graph (`graph.py`), and searches that for
fair runs in which a process starves. Fairness and progress properties are declared in `zabspec/live/`.
"""
