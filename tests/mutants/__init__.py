"""Mutants of the project's own texts, and the tests that kill them: `python -m tests.mutants` (docs/mutants.md)."""
