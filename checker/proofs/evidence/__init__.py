"""Evidence beside an exploration: induction by z3, the proof without bounds, and the refinement check.

Start with `gathered.py`, which adds evidence to a report. `sources.py` lists the files that a piece of evidence depends
on, `store.py` keeps what is recorded with the package and what was computed on this machine, `computing.py` computes.
`python -m benchmarks.record_evidence` writes `recorded.json`; with `--check` it names what is stale.
"""
