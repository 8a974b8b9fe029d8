"""`zabcheck prove`: the proof of abstract ZAB (`zabspec/proofs/abstract/`) without bounds, by z3.

Start with `queries.py`: what is proved, one query each, and how it is put in z3's logic, with the hypotheses that
`needs.txt` names; `finite.py` is a finite instance, which shows mutants and counterexamples as runs.
"""
