"""The mutants of a Python text: those that the product makes of protocols (`checker/mutate/edits.py`)."""

from __future__ import annotations

from checker.mutate.edits import Mutant, mutants_of, sampled

__all__ = ["Mutant", "mutants_of", "sampled"]
