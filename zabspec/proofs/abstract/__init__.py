"""State abstract ZAB, the protocol of the unbounded proof: the same actions with unbounded histories and epochs.

Start with `protocol.py`, then `invariant.py`. Read by z3, by a finite instance (`checker/proofs/prove/`), and as
functions of the language (`checker/proofs/refine/`).
"""
