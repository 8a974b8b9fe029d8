"""Mutants of the project's sources, and the tests that kill them: `python -m tests.mutants`.

benchmarks/results/mutants.md has the method, mutants.json the results.
"""
