"""`zabcheck prove`: the proof of abstract ZAB (`zabspec/abstract/`) without bounds, by z3.

Start with `queries.py`: what is proved, one query each. `unbounded.py` poses them to z3, with the hypotheses that
`needs.txt` names; `finite.py` is a finite instance, in which mutants and counterexamples are shown as runs.
"""
