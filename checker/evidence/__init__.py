"""Evidence beside an exploration: induction by z3, the proof without bounds, and the refinement check.

Start with `gathered.py`, which puts evidence beside a report. `sources.py` says which files a piece of evidence depends
on, `store.py` keeps what is recorded with the package and what was computed on this machine, `computing.py` computes.
`python -m checker.evidence.record` makes `recorded.json` anew; with `--check` it names what is stale.
"""
